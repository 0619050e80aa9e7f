/* commands.h - what the files of the line chat's commands share: commands.c has the table and what changes the
 * conversation, commands_show.c figures and texts, commands_sessions.c whole sessions. */
#ifndef COMMANDS_H
#define COMMANDS_H
#include "app/command_row.h"
#include "app/console.h"

typedef void command(struct console *c, const char *arg, size_t n); /* arg: what follows the name */

void command_complain(const struct err *err);
bool command_number(const char *arg, size_t n, uint64_t most, uint64_t *out); /* that is all of arg */
enum { COMMAND_LINE = 1500 }; /* bytes of a text that are told in one line */
/* A text of others, whole, line by line, under a line of ours. */
void command_text(const char *head, const char *text, size_t n);

void command_say_machine(const struct console *c); /* what it has, and what of this process is resident */
void command_say_model(const struct engine_info *i); /* its name, size and types */
void command_say_local(const struct engine_info *i); /* what layers with a window of their own keep, if there are any */

command command_stats, command_context, command_read, command_attach, command_artifact, command_ingest, command_recall;
command command_agents, command_use, command_for, command_tools, command_tokens, command_memory;
command command_view, command_limit;
command command_park, command_policy, command_model, command_plan, command_save, command_wait; /* commands_team.c */
command command_expect, command_assert;                                        /* script_run.c */
command command_explain;                                                       /* commands_explain.c */
command command_isolate, command_bisect;                                       /* commands_again.c */
command command_sessions, command_resume, command_fork, command_rename, command_export, command_delete;
#endif
