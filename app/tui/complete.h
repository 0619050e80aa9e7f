/* complete.h - what can complete the word at the cursor of the input, and which files a message mentions.
 *
 *     /co|                   commands, with what they take            /use res|      what a command takes
 *     @res|                  agents, where a text begins              /attach src/|  files, as they are named there
 *     @src/ma|               files and folders of the workspace, anywhere in a text
 *
 * A mention is an @ behind nothing, a blank or an opening bracket or quote, and a name: all up to a blank, or in double
 * quotes what a name cannot say bare: @"a b.txt", with \" \\ \n \t \r \xHH and \u{HEX} as tools/escape.h writes them.
 * A folder's name ends in / and, in quotes, stays open: the next name follows it.  Hidden names are offered when a dot
 * was typed.
 *
 * What is typed and what folders hold is of others: what a choice shows is escaped, and what cannot be said where the
 * cursor stands (a newline in /attach) is not offered.
 *
 * Pure but for the calls of complete_files.  Owner: what is returned is its caller's, and points into the source.
 * Threads: any. */
#ifndef COMPLETE_H
#define COMPLETE_H
#include "app/command_row.h"
#include "plimsoll.h"
#include "tools/folder.h"

enum {
    COMPLETE_CHOICES = 500, /* that are given */
    COMPLETE_LISTED = 1000, /* names of a folder that a list() has to give at most */
    COMPLETE_WORD = 8192,   /* bytes before the cursor that are looked at */
    COMPLETE_MENTIONS = 32  /* of a message */
};

/* Where files are looked up; complete_workspace() is the system's. */
struct complete_files {
    /* The names of a folder ("": the one where it all begins) that begin with prefix, sorted; hidden ones only where
     * prefix begins with a dot.  mention: of the workspace, and none that tools/path.h refuses; or as the program opens
     * names.
     * 0, or -1: it cannot be read. */
    int (*list)(void *arg, bool mention, const char *folder, const char *prefix, struct folder *out);
    int64_t (*size)(void *arg, const char *path); /* bytes of a regular file of the workspace; -1: it is none */
    void *arg;
};
struct complete_files complete_workspace(int *root); /* its folder's descriptor, which stays the caller's */

struct complete_name { const char *name, *about; }; /* about: a word on it for a person, or NULL */
struct complete_names { const struct complete_name *name; size_t n; };

struct complete_source {
    const struct command_row *command;
    size_t commands;
    struct complete_names names[COMMAND_ARGS]; /* COMMAND_AGENT, _TOOL, _SESSION, _ARTIFACT, _MESSAGE */
    const struct complete_files *files;        /* NULL: none are offered */
};

struct complete_choice {
    char *text;        /* what takes the word's place; a blank behind it where more may follow */
    char *shown;       /* one line for a list */
    const char *takes; /* a command's argument; NULL: none */
    const char *about; /* a few words; NULL: none */
};

struct complete {
    size_t at, cut;    /* the word's place, up to the cursor: edit_replace() */
    char *common;      /* what all choices begin with, where that is more than was typed; else NULL */
    struct complete_choice *choice;
    size_t n;
    bool more;         /* there are others */
    const char *takes; /* in a command's argument: what it takes; NULL: nowhere, or nothing */
};

/* cursor: a byte of the text, at most n.  0, with no choice or some; or -1: no memory, and out is empty. */
int complete(const struct complete_source *s, const char *text, size_t n, size_t cursor, struct complete *out);
void complete_free(struct complete *c);

/* A mention of something by its name: where it stands in the message, and what it names. */
struct complete_mention {
    size_t at, n;
    char *path;
    int64_t bytes; /* of a regular file of the workspace; -1: it names none */
};
struct complete_mentions {
    struct complete_mention *mention; /* each name once */
    size_t n;
    bool more; /* others behind COMPLETE_MENTIONS were not looked at */
};

/* The mentions in a message, but for that of an agent where it begins.  A bare name that is no file is tried without
 * the marks that end a sentence or close a bracket.  0, or -1: no memory, and out is empty. */
int complete_attachments(const struct complete_source *s, const char *text, size_t n, struct complete_mentions *out);
void complete_mentions_free(struct complete_mentions *m);
#endif
