/* tool_shell.c - a command line, as /bin/sh reads it. */
#include "tools/tool.h"

int tool_shell(const json_t *arguments, const char *argv[TOOL_ARGV], struct err *err)
{
    struct tool_text command;
    if (tool_arg_text(arguments, "command", &command, err)) return -1;
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = "--"; /* or a command that begins with a dash would be options */
    argv[3] = command.s;
    argv[4] = NULL;
    return 0;
}
