/* explain_smi.h - what nvidia-smi says of devices and of who holds them (see explain.h): its table, and the CSV of
 * --query-gpu and --query-compute-apps.
 *
 * In CSV a column is what its header names, or the query on the command line above it; rows under neither are not
 * read, and of the others only those that fit: as many cells, and numbers where numbers are to be. */
#ifndef EXPLAIN_SMI_H
#define EXPLAIN_SMI_H
#include "app/learn/explain_match.h"

enum { SMI_PROCESSES_MOST = 64 };

struct smi {
    double used, total;    /* bytes of the fullest device; total 0: no device is told of */
    int processes;         /* each counted once, however often it is listed; at most SMI_PROCESSES_MOST */
    double biggest;        /* bytes that one of them holds */
    uint32_t biggest_line; /* of the text */
    double pid[SMI_PROCESSES_MOST]; /* -1: not said */
};

/* A row of a table: bytes used and in all; a process (pid -1: not said) with its bytes. */
void smi_device(struct smi *s, double used, double total);
void smi_process(struct smi *s, double pid, double held, uint32_t line);

/* All CSV in this text. */
void smi_csv(struct smi *s, const char *text, size_t n);

/* Somebody is listed, and the fullest device is as good as full. */
bool smi_is_full(const struct smi *s);
#endif
