/* test_cli_store.c - `plimsoll store` as a person types it: its command line, its figures and its verdicts. */
#include "memory/recall.h"
#include "memory/snapshot.h"
#include "tests/cli_store_rig.h"

/* ---------------------------------------------------------------- the command line */

TEST(cli_store_each_bad_command_line_is_one_line_and_status_2)
{
    static const struct { const char *args[5], *part; } bad[] = {
        {{NULL}, "store needs a verb: stat, check, salvage, dump or compact"},
        {{"--json"}, "store needs a verb"},
        {{"stta"}, "no such verb: stta; did you mean stat?"},
        {{"frobnicate"}, "no such verb: frobnicate (plimsoll store --help)"},
        {{"stat", "--jsno"}, "did you mean --json?"},
        {{"stat", "--json=1"}, "--json takes no value"},
        {{"stat", "6164"}, "store stat takes no \"6164\""},
        {{"stat", "--store"}, "--store needs a value (DIR)"},
        {{"stat", "--store="}, "not an empty name"},
        {{"check", "--to", "x"}, "--to goes with store salvage, not with store check"},
        {{"--cache", "compact"}, "--cache goes with store dump, not with store compact"},
        {{"salvage"}, "store salvage needs --to DIR"},
        {{"dump", "xyz"}, "\"xyz\" is not the beginning of a session's id"},
        {{"dump", ""}, "\"\" is not the beginning"},
        {{"dump", "000000000000000000000000000000000"}, "is not the beginning"},
        {{"dump", "6", "7"}, "store dump takes one SESSION"},
        {{"dump", "6", "--cache"}, "--cache does not go with a session"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        size_t n = 0;
        while (bad[i].args[n]) n++;
        CHECK_EQ(run(bad[i].args, n), 2);
        check_complaint(bad[i].part);
        CHECK_STR(said(), "");
    }
}

static void check_columns(const char *text, size_t most)
{
    for (const char *at = text, *end; (end = strchr(at, '\n')); at = end + 1)
        if ((size_t)(end - at) > most) check_fail(__FILE__, __LINE__, "too long: %.*s", (int)(end - at), at);
}

TEST(cli_store_help_is_for_80_columns)
{
    static const char *const verbs[] = {"  stat ", "  check ", "  salvage ", "  dump [SESSION] ", "  compact "};
    CHECK_EQ(STORE("--help"), 0);
    for (size_t i = 0; i < COUNT_OF(verbs); i++) check_has(said(), verbs[i]);
    check_has(said(), "[PLIMSOLL_STORE]");
    check_columns(said(), 80);
    CHECK_STR(complained(), "");
    CHECK_EQ(STORE("dump", "-h", "--store", "/nowhere"), 0);
    check_has(said(), "plimsoll store - ");
}

TEST(cli_store_no_verb_makes_a_store_where_none_is)
{
    static const char *const verbs[] = {"stat", "check", "dump", "compact"};
    char dir[256], to[300];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    snprintf(to, sizeof to, "%s-new", dir);
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        CHECK_EQ(STORE(verbs[i], "--store", dir), 2);
        check_complaint("there is no store; --store DIR names another folder");
        CHECK(access(dir, F_OK) != 0);
    }
    CHECK_EQ(STORE("salvage", "--store", dir, "--to", to), 2);
    check_complaint("there is no journal/data.mdb to salvage");
    CHECK_EQ(mkdir(dir, 0755), 0);
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        CHECK_EQ(STORE(verbs[i], "--store", dir), 2);
        check_complaint("there is no store in it");
    }
    CHECK_EQ(mkdir(under(dir, "photos"), 0755), 0);
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        CHECK_EQ(STORE(verbs[i], "--store", dir), 2);
        check_complaint("holds things that are no plimsoll store");
    }
    CHECK_EQ(STORE("salvage", "--store", dir, "--to", to), 2);
    CHECK_EQ(rmdir(under(dir, "photos")), 0);
    CHECK_EQ(rmdir(dir), 0); /* nothing was put in it */
    CHECK(access(to, F_OK) != 0);
}

/* The flag, then the variable, then the user's data folder. */
TEST(cli_store_the_folder_is_named_by_flag_variable_or_home)
{
    static const char script[] =
        "set -e; unset PLIMSOLL_STORE XDG_DATA_HOME; mkdir \"$HOME\"\n"
        "$P store stat 2>&1 | grep -qF \"$HOME/.local/share/plimsoll: there is no store\"\n"
        "XDG_DATA_HOME=\"$HOME/data\" $P store stat 2>&1 | grep -qF \"$HOME/data/plimsoll: there is no store\"\n"
        "PLIMSOLL_STORE=$D $P store stat | grep -q '^2 sessions'\n"
        "PLIMSOLL_STORE=/nowhere $P store stat --store $D | grep -q '^2 sessions'\n"
        "mkdir \"$HOME/data\"; mv \"$D\" \"$HOME/data/plimsoll\"\n"
        "XDG_DATA_HOME=\"$HOME/data\" $P store check >/dev/null\n"
        "PLIMSOLL_STORE= $P store stat 2>&1 | grep -qF \"$HOME/.local/share/plimsoll: there is no store\"\n"
        "HOME= $P store stat 2>&1 | grep -q 'no place for the store'\n"
        "HOME= $P store stat 2>/dev/null || test $? = 2\n";
    char command[1600];
    setenv("P", child_program(), 1);
    setenv("D", a_store(), 1);
    snprintf(command, sizeof command, "HOME='%s'\nexport HOME\n%s", fresh_dir(), script);
    CHECK_EQ(system(command), 0);
}

/* ---------------------------------------------------------------- stat */

TEST(cli_store_stat_shows_sizes_kinds_and_sessions)
{
    static const char *const parts[] = {
        "\njournal ", "\ncache ", " 64.0 GiB ", " 16.0 GiB ",
        "\njournal  sessions                           1        38 B\n",
        "\n         messages, events                   4 ",
        "\n         artifacts                          2       106 B\n",
        "\ncache    KV pages                           1     8.8 KiB\n",
        "\n         recall index                       1 ",
        "\n61646127                                    3 ",
        "\n626f6227                                    1        50 B        0 B        0 B\n  its head is missing\n",
        "\nquotas of                  used   all sessions      one session\n",
        "\nKV pages                    0 B        1.0 GiB          1.0 GiB\n",
        "\nrecall index                0 B        2.0 GiB        256.0 MiB\n",
        "\n2 sessions\n"};
    const char *dir = a_store();
    CHECK_EQ(STORE("stat", "--store", dir), 0);
    CHECK(strncmp(said(), dir, strlen(dir)) == 0 && said()[strlen(dir)] == '\n');
    for (size_t i = 0; i < COUNT_OF(parts); i++) check_has(said(), parts[i]);
    check_columns(said() + strlen(dir) + 1, 80);
    CHECK_STR(complained(), "");
}

static json_int_t number_in(const json_t *o, const char *name)
{
    const json_t *value = json_object_get(o, name);
    CHECK(json_is_integer(value));
    return json_integer_value(value);
}

static const char *string_in(const json_t *o, const char *name)
{
    const char *value = json_string_value(json_object_get(o, name));
    return value ? value : "";
}

/* What each session has in the cache; quotas from the variables and the file. */
TEST(cli_store_stat_shows_quotas_and_what_counts_against_them)
{
    enum { TOKENS = 16, BYTES = 9000 };
    static const int32_t ids[TOKENS];
    static const uint8_t bytes[BYTES], engine[SNAP_NAME], name[2][SNAP_NAME] = {"first page", "second page"};
    const char *dir = a_store();
    struct store *s = open_at(dir);
    struct recall *r = recall_open(s, &err);
    struct snap snap;
    const struct snap_page page[2] = {{name[0], engine, ids, bytes}, {name[1], name[0], ids, bytes}};
    struct recall_doc doc = {.kind = RECALL_MESSAGE, .id = 1};
    OK(snap_open(&snap, s, engine, TOKENS, BYTES, UINT64_MAX, UINT64_MAX, &err));
    OK(snap_put(&snap, page, 2, &err));
    OK(snap_use(&snap, ada, name, 2, &err));
    OK(snap_use(&snap, bob, name, 1, &err));
    snap_close(&snap);
    memcpy(doc.session, bob, sizeof doc.session);
    OK(recall_add(r, &doc, "zebra", 5, &err));
    store_begin(s, STORE_CACHE);
    OK(recall_flush(r, bob, 2, &err));
    OK(store_commit(s, &err));
    recall_close(r);
    store_close(s);
    CHECK_EQ(STORE("stat", "--json", "--store", dir), 0);
    json_t *all = json_loads(said(), 0, NULL), *quotas = json_object_get(all, "quotas");
    json_t *a = json_array_get(json_object_get(all, "sessions"), 0);
    json_t *b = json_array_get(json_object_get(all, "sessions"), 1), *kv = json_object_get(quotas, "kv");
    CHECK(number_in(kv, "all_bytes") == 1 << 30 && number_in(kv, "session_bytes") == 1 << 30);
    CHECK(number_in(kv, "used_bytes") > number_in(a, "kv_bytes") + number_in(b, "kv_bytes")); /* one page is both's */
    CHECK(number_in(a, "kv_bytes") > BYTES && number_in(b, "kv_bytes") < BYTES && number_in(b, "kv_bytes") > 0);
    CHECK(number_in(a, "recall_bytes") == 0 && number_in(b, "recall_bytes") > 0);
    CHECK_EQ(number_in(json_object_get(quotas, "recall"), "used_bytes"), number_in(b, "recall_bytes"));
    json_decref(all);
}

TEST(cli_store_stat_has_the_quotas_of_variables_and_file)
{
    static const char script[] =
        "set -e; unset XDG_CONFIG_HOME PLIMSOLL_CONFIG; mkdir -p \"$HOME/.config/plimsoll\"\n"
        "C=\"$HOME/.config/plimsoll/config\"; umask 022\n"
        "printf 'snapshots = 64M\\nsnapshots-session = 25%%\\nrecall-index = 0\\n' > \"$C\"\n"
        "$P store stat --store $D | grep -q '^KV pages .* 64.0 MiB *16.0 MiB$'\n"
        "$P store stat --store $D | grep -q '^recall index .* 0 B *0 B$'\n"
        "export PLIMSOLL_SNAPSHOTS_SESSION=1M PLIMSOLL_RECALL_INDEX=8M PLIMSOLL_RECALL_INDEX_SESSION=2M\n"
        "$P store stat --store $D | grep -q '^KV pages .* 64.0 MiB *1.0 MiB$'\n"
        "$P store stat --store $D | grep -q '^recall index .* 8.0 MiB *2.0 MiB$'\n"
        "export PLIMSOLL_RECALL_INDEX=lots\n"
        "$P store stat --store $D 2>&1 | grep -q 'PLIMSOLL_RECALL_INDEX: \"lots\" is not a size'\n"
        "$P store stat --store $D 2>/dev/null | grep -q '^recall index .* ? *?$'\n"
        "$P store stat --json --store $D 2>/dev/null | grep -q '\"all_bytes\":null'\n";
    char command[2400];
    setenv("P", child_program(), 1);
    setenv("D", a_store(), 1);
    snprintf(command, sizeof command, "HOME='%s'\nexport HOME\n%s", fresh_dir(), script);
    CHECK_EQ(system(command), 0);
}

TEST(cli_store_stat_as_json_is_one_object)
{
    static const char *const words[] = {"message", "piece", "session", "artifact", "chunk"};
    const char *dir = a_store();
    struct stat st;
    json_int_t bytes = 0, of_sessions = 0;
    size_t i;
    json_t *kind;
    CHECK_EQ(STORE("stat", "--json", "--store", dir), 0);
    json_t *all = json_loads(said(), 0, NULL), *parts = json_object_get(all, "parts");
    CHECK(all && strchr(said(), '\n') == said() + strlen(said()) - 1);
    CHECK_EQ(number_in(all, "schema_version"), 1);
    CHECK_STR(string_in(all, "store"), dir);
    json_t *journal = json_object_get(parts, "journal"), *cache = json_object_get(parts, "cache");
    CHECK_EQ(stat(under(dir, "journal/data.mdb"), &st), 0);
    CHECK_EQ(number_in(journal, "file_bytes"), st.st_size);
    CHECK(number_in(journal, "used_bytes") > 100000 && number_in(journal, "used_bytes") <= st.st_size);
    CHECK_EQ(number_in(journal, "map_bytes"), 16 << 20);
    CHECK_EQ(number_in(cache, "map_limit_bytes"), (json_int_t)16 << 30);
    CHECK_EQ(number_in(journal, "readers"), 0);
    CHECK_EQ(json_array_size(json_object_get(journal, "kinds")), COUNT_OF(words));
    json_array_foreach(json_object_get(journal, "kinds"), i, kind) {
        CHECK_STR(string_in(kind, "kind"), words[i]);
        bytes += number_in(kind, "bytes");
    }
    json_t *kv = json_array_get(json_object_get(cache, "kinds"), 1);
    CHECK_STR(string_in(kv, "kind"), "kv");
    CHECK_EQ(number_in(kv, "bytes"), 7 + 16 + 9000);
    json_t *sessions = json_object_get(all, "sessions"), *first = json_array_get(sessions, 0);
    CHECK_EQ(json_array_size(sessions), 2);
    CHECK_STR(string_in(first, "id"), "61646127732073657373696f6e2e2e00");
    CHECK_STR(string_in(first, "prefix"), "61646127");
    CHECK_EQ(number_in(first, "messages"), 3);
    CHECK(json_is_true(json_object_get(first, "head")));
    CHECK(json_is_false(json_object_get(json_array_get(sessions, 1), "head")));
    for (i = 0; i < 2; i++) of_sessions += number_in(json_array_get(sessions, i), "bytes");
    CHECK_EQ(of_sessions, bytes);
    json_decref(all);
}

TEST(cli_store_stat_shows_as_much_of_an_id_as_tells_it_from_the_others)
{
    const char *dir = fresh_dir();
    uint8_t near[STORE_SESSION_ID];
    struct store *s = open_at(dir);
    memcpy(near, ada, sizeof near);
    near[sizeof near - 1] ^= 1;
    commit_message(s, ada, 0, "one");
    commit_message(s, near, 0, "two");
    commit_message(s, bob, 0, "three");
    store_close(s);
    CHECK_EQ(STORE("stat", "--store", dir), 0);
    check_has(said(), "\n61646127732073657373696f6e2e2e00 ");
    check_has(said(), "\n61646127732073657373696f6e2e2e01 ");
    check_has(said(), "\n626f6227 ");
    CHECK_EQ(STORE("dump", "61646127732073657373696f6e2e2e0", "--store", dir), 2);
    check_complaint("the ids of 2 sessions begin with 6164");
    CHECK_EQ(STORE("dump", "61646127732073657373696F6E2E2E01", "--store", dir), 0);
    check_has(said(), "\"text\":\"two\"");
    CHECK_EQ(STORE("dump", "62", "--store", dir), 0);
    check_has(said(), "\"text\":\"three\"");
    CHECK_EQ(STORE("dump", "63", "--store", dir), 2);
    check_complaint("no session's id begins with 63");
}

TEST(cli_store_stat_of_an_empty_store)
{
    const char *dir = fresh_dir();
    store_close(open_at(dir));
    CHECK_EQ(STORE("stat", "--store", dir), 0);
    check_has(said(), "\njournal  empty\ncache    empty\n");
    check_has(said(), "\n0 sessions\n");
    CHECK_EQ(STORE("dump", "--store", dir), 0);
    CHECK_STR(said(), "");
    CHECK_EQ(STORE("check", "--store", dir), 0);
}

/* ---------------------------------------------------------------- check */

TEST(cli_store_check_of_a_clean_store_also_while_it_is_in_use)
{
    const char *dir = a_store();
    CHECK_EQ(STORE("check", "--store", dir), 0);
    CHECK_STR(said(), "journal  clean\ncache    clean\n"
              "  session 626f6227732073657373696f6e2e2e00 has lost its head, and nothing of it can be read\n");
    CHECK_STR(complained(), "");
    pid_t other = stays_open(dir);
    CHECK_EQ(STORE("check", "--store", dir), 0);
    CHECK_EQ(STORE("stat", "--store", dir), 0);
    CHECK_EQ(STORE("dump", "--store", dir), 0);
    goes(other);
}

TEST(cli_store_a_damaged_journal_is_named_with_the_way_out_and_left_as_it_is)
{
    static const char *const verbs[] = {"check", "stat", "dump", "compact"};
    const char *dir = a_store();
    struct stat before, after;
    strike_pages_with(dir, "journal/data.mdb", "hello");
    struct buf was = contents(under(dir, "journal/data.mdb"));
    CHECK_EQ(stat(under(dir, "journal/data.mdb"), &before), 0);
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        CHECK_EQ(STORE(verbs[i], "--store", dir), 1);
        check_complaint("store salvage");
        if (i > 0) CHECK_STR(said(), "");
    }
    struct buf is = contents(under(dir, "journal/data.mdb"));
    CHECK_EQ(stat(under(dir, "journal/data.mdb"), &after), 0);
    CHECK(is.len == was.len && memcmp(is.data, was.data, is.len) == 0);
    CHECK(before.st_mtim.tv_sec == after.st_mtim.tv_sec && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    CHECK_EQ(STORE("check", "--store", dir), 1);
    check_has(said(), "journal  damaged:\n  ");
    check_has(said(), " is not what it should be\n");
    check_has(said(), "\ncache    clean\n");
    check_has(complained(), "recover with: plimsoll store salvage --store /");
    check_has(complained(), " --to NEWDIR\n");
    buf_free(&was);
    buf_free(&is);
}

TEST(cli_store_check_names_a_damaged_record)
{
    const char *dir = a_store();
    plant_damaged_message(dir);
    CHECK_EQ(STORE("check", "--store", dir), 1);
    CHECK_STR(said(), "journal  damaged:\n  message 1 of session 61646127732073657373696f6e2e2e00 is damaged: it is "
                      "shorter than a header\ncache    clean\n");
}

TEST(cli_store_a_damaged_cache_is_no_loss)
{
    const char *dir = a_store();
    strike_pages_with(dir, "cache/data.mdb", "index");
    CHECK_EQ(STORE("check", "--store", dir), 1);
    check_has(said(), "journal  clean\ncache    damaged:\n  ");
    check_complaint("the cache is damaged; nothing is lost by that");
}

/* A quote in a path must not end the word that a shell is given. */
TEST(cli_store_the_way_out_can_be_pasted)
{
    char dir[300], command[1200];
    snprintf(dir, sizeof dir, "%s it's $HOME", fresh_dir());
    struct store *s = open_at(dir);
    fill_store(s);
    store_close(s);
    plant_damaged_message(dir);
    CHECK_EQ(STORE("check", "--store", dir), 1);
    const char *at = strstr(complained(), "salvage --store "), *end = strstr(complained(), " --to NEWDIR");
    CHECK(at && end);
    snprintf(command, sizeof command, "%s store %.*s --to '%s' >/dev/null", child_program(), (int)(end - at), at,
             fresh_dir());
    CHECK_EQ(system(command), 0);
}

/* ---------------------------------------------------------------- stdout */

TEST(cli_store_a_full_disk_behind_stdout_is_status_1)
{
    static const char *const verbs[] = {"stat", "check", "dump", "compact"};
    const char *dir = a_store();
    if (access("/dev/full", W_OK)) SKIP("no /dev/full here");
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        const char *const args[] = {"store", verbs[i], "--store", dir, NULL};
        child_free(&c);
        child_start_into(&c, args, "/dev/full");
        CHECK_EQ(child_end(&c), 1);
        check_complaint("No space left");
    }
}

CHECK_MAIN
