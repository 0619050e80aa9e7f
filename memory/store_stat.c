/* store_stat.c - what is in the store, in figures. */
#include "memory/store_impl.h"
#include <sys/stat.h>

static void count(struct store_stat *st, const MDB_val *key)
{
    st->records++;
    if (key->mv_size == 0) return;
    switch (*(const char *)key->mv_data) {
    case 'S': st->sessions++; break;
    case 'M': st->messages++; break;
    case 'P': st->pieces++; break;
    case 'a': st->artifacts++; break;
    case 'c': st->chunks++; break;
    default: break;
    }
}

/* Pages that some tree or the list of free ones holds down less those that are free again. */
static int count_all(struct store_env *e, MDB_txn *txn, struct store_stat *st)
{
    MDB_cursor *cursor;
    MDB_stat tree;
    MDB_val k, v;
    int rc = mdb_stat(txn, e->dbi, &tree);
    if (rc) return rc;
    st->used_bytes = (uint64_t)tree.ms_psize * (2 + tree.ms_branch_pages + tree.ms_leaf_pages + tree.ms_overflow_pages);
    rc = mdb_cursor_open(txn, e->dbi, &cursor);
    if (rc) return rc;
    while ((rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) == 0) count(st, &k);
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* A line for each reader after the heading "    pid     thread     txnid", which is a line too. */
static int count_line(const char *line, void *user)
{
    unsigned *n = user;
    if (line[strspn(line, " ")] >= '0' && line[strspn(line, " ")] <= '9') ++*n;
    return 0;
}

int store_stat(struct store *s, enum store_part part, struct store_stat *out, struct err *err)
{
    struct store_env *e = &s->part[part];
    struct store_stat st = {0};
    struct stat file;
    char path[STORE_PATH_MAX];
    MDB_txn *txn;
    int dead, rc = store_path(path, s->dir, part == STORE_JOURNAL ? "journal/data.mdb" : "cache/data.mdb", err);
    if (!rc) rc = store_begin_read(s, part, &txn, err);
    if (rc) return rc;
    int got = count_all(e, txn, &st);
    mdb_txn_abort(txn);
    if (!got) got = mdb_reader_check(e->env, &dead);
    if (!got) got = MIN(mdb_reader_list(e->env, count_line, &st.readers), 0);
    if (got) return store_lmdb(err, got, "count", s->dir);
    st.file_bytes = stat(path, &file) ? 0 : (uint64_t)file.st_size;
    st.map_bytes = e->map;
    st.map_limit = e->map_limit;
    *out = st;
    return 0;
}
