/* The window and the summaries without memory: every allocation fails once, by itself and with all after it; each time
 * that is said, nothing has changed, and the same again succeeds. */
#include "memory/summary.h"
#include "tests/interpose.h"
#include "tests/test_window_cases.h"

#if INTERPOSE_WORKS

enum { MOST = 200 }; /* allocations of one operation */

/* op() with its n-th allocation failing, n = 1, 2, ... until it needs no more: how many failed. */
static int fail_each(bool stay, int no_memory, int (*op)(void *), void *arg, void (*unchanged)(void *))
{
    for (int n = 1; n < MOST; n++) {
        interpose_arm(n, stay);
        int rc = op(arg);
        interpose_disarm();
        if (rc == 0) return n - 1;
        CHECK_EQ(rc, no_memory);
        if (unchanged) unchanged(arg);
    }
    check_fail(__FILE__, __LINE__, "it never succeeds");
}

struct tried {
    struct window *w;
    struct window_figures before;
    uint64_t id;
};

static void same_figures(void *arg)
{
    struct tried *t = arg;
    struct window_figures f = figures(t->w);
    CHECK_MEM(&t->before, &f, sizeof f);
}

static int op_open(void *arg)
{
    struct window **w = arg;
    return window_open(w, &usual, mock_count(&mock), &err);
}

static int op_append(void *arg)
{
    struct tried *t = arg;
    return window_append(t->w, WINDOW_USER, t->id, 0, &err);
}

static int op_commit(void *arg)
{
    struct tried *t = arg;
    return window_commit(t->w, SUMMARY, 1, false, &err);
}

static int op_undo(void *arg)
{
    struct tried *t = arg;
    return window_undo(t->w, &err);
}

TEST(window_without_memory_is_as_it_was)
{
    for (int stay = 0; stay < 2; stay++) {
        struct tried t = {0};
        mock = (struct mock){0};
        CHECK(fail_each(stay, WINDOW_NO_MEMORY, op_open, &t.w, NULL) >= 3);
        window_close(t.w);
        t.w = window(&usual);
        int failed = 0;
        for (t.id = 1; t.id <= 200; t.id++) {
            mock.size[t.id] = 8;
            t.before = figures(t.w);
            failed += fail_each(stay, WINDOW_NO_MEMORY, op_append, &t, same_figures);
        }
        CHECK(failed >= 3);
        propose(t.w);
        t.before = figures(t.w);
        CHECK(fail_each(stay, WINDOW_NO_MEMORY, op_commit, &t, same_figures) >= 1);
        t.before = figures(t.w);
        CHECK(fail_each(stay, WINDOW_NO_MEMORY, op_undo, &t, same_figures) >= 1);
        CHECK_EQ(call(t.w).n, 2 + 200);
        window_close(t.w);
    }
}

TEST(window_a_call_allocates_nothing)
{
    struct window *w = window(&usual);
    struct window_proposal p;
    talk(w, 1, 90, 50); /* must be cut */
    interpose_arm(0, false);
    struct window_call c = call(w);
    bool due = window_due(w);
    struct window_figures f = figures(w);
    int rc = window_propose(w, &p, NULL);
    CHECK_EQ(interpose_disarm(), 0);
    CHECK(c.n > 2 && !due && f.cut.messages > 0 && rc == 0);
    window_close(w);
}

static int one_byte_one_token(void *self, const char *text, size_t len, int64_t *out)
{
    (void)self, (void)text;
    *out = (int64_t)len;
    return 0;
}
static const struct summary_limit roomy = {one_byte_one_token, NULL, 10000};

static int op_extract(void *arg)
{
    static const char text[] = "The port is 8080.\nThe host is alba, in /etc/hosts.";
    const struct summary_source said[] = {{form_text(text), true}};
    struct summary_result res;
    return summary_extract(NULL, said, 1, NULL, &roomy, arg, &res, &err);
}

static int op_check(void *arg)
{
    (void)arg;
    struct form_text item[] = {form_text("the port is 8081")};
    const struct form_text shown[] = {form_text("the port is 8080")};
    struct form_record r = {.section = {{item, 1}}, .items = item};
    size_t left;
    int rc = summary_check(&r, shown, 1, &left, &err);
    return rc == SUMMARY_EMPTY ? 0 : rc; /* nobody said 8081 */
}

static int op_diff(void *arg)
{
    struct summary_change c;
    return summary_diff(form_text("a"), form_text("b"), arg, &c, &err);
}

static void still_empty(void *arg)
{
    struct buf *out = arg;
    CHECK_EQ(out->len, 0);
    buf_free(out);
}

TEST(summary_without_memory_says_so_and_writes_nothing)
{
    for (int stay = 0; stay < 2; stay++) {
        struct buf out = {0};
        CHECK(fail_each(stay, SUMMARY_NO_MEMORY, op_extract, &out, still_empty) >= 5);
        buf_free(&out);
        CHECK(fail_each(stay, SUMMARY_NO_MEMORY, op_check, &out, still_empty) >= 3);
        CHECK(fail_each(stay, SUMMARY_NO_MEMORY, op_diff, &out, still_empty) >= 2);
        buf_free(&out);
    }
}

#else
TEST(window_without_memory) { SKIP("a sanitizer has an allocator of its own"); }
#endif

CHECK_MAIN
