/* explain_smi.h - what nvidia-smi says of devices and of who holds them (see explain.h): its table, and the CSV of
 * --query-gpu and --query-compute-apps.
 *
 * In CSV a column is what its header names, or the query on the command line above it; rows under neither are not
 * read, and of the others only those that fit: as many cells, and numbers where numbers are to be.  Rows of one device,
 * behind each other as "-l 1" or a loop writes them, are a series: it climbs, it has spikes, or it is flat.  Without a
 * column that says which device, under a header each time the first, the second, ... are the same one's; rows under one
 * header are one device's, unless they are more like those before the last: then so many devices take turns. */
#ifndef EXPLAIN_SMI_H
#define EXPLAIN_SMI_H
#include "app/learn/explain_match.h"

enum {
    SMI_PROCESSES_MOST = 64, SMI_DEVICES_MOST = 16, SMI_ROWS_LEAST = 8, /* of a series that has a shape */
    SMI_TURNS_ROWS = 1024 /* rows by which it is seen whether devices take turns */
};

struct smi_series {
    uint32_t key;
    int rows;
    double first, last, least, most; /* bytes used */
    double fall;                     /* from the most before to the least behind it, at most */
    double level;                    /* of the last row, .rose, that was above all before by a hundredth */
    int rose;
    double total;                    /* of the device; 0: not said */
};
enum smi_shape { SMI_SHAPELESS, SMI_CLIMBS, SMI_SPIKES, SMI_FLAT };

struct smi {
    double used, total;    /* bytes of the fullest device; total 0: no device is told of */
    int processes;         /* each counted once, however often it is listed; at most SMI_PROCESSES_MOST */
    double biggest;        /* bytes that one of them holds */
    uint32_t biggest_line; /* of the text */
    double pid[SMI_PROCESSES_MOST]; /* -1: not said */
    int headers, devices;
    bool named;                      /* a column says whose a row is */
    int turns;                       /* so many devices take turns under one header; 0: none do */
    struct smi_series of[SMI_DEVICES_MOST], all;
    double first[SMI_TURNS_ROWS];    /* bytes used in the first rows */
    int firsts;
};

/* A row of a table: bytes used and in all; a process (pid -1: not said) with its bytes. */
void smi_device(struct smi *s, double used, double total);
void smi_process(struct smi *s, double pid, double held, uint32_t line);

/* All CSV in this text. */
void smi_csv(struct smi *s, const char *text, size_t n);

/* The shape of the series that has most of one; *of (if not NULL): that series.  A device that is flat and half empty
 * has no shape. */
enum smi_shape smi_shape(const struct smi *s, const struct smi_series **of);

/* Somebody is listed, and the fullest device is as good as full. */
bool smi_is_full(const struct smi *s);
#endif
