/* test_explain_smi.c - what explain takes from nvidia-smi: its table, and CSV with and without a header. */
#include "app/learn/explain.h"
#include "app/learn/explain_smi.h"
#include "tests/check.h"

#define MIB 0x1p20

static struct smi smi;
static struct verdict v[EXPLAIN_MOST];

static void csv(const char *text)
{
    smi = (struct smi){0};
    smi_csv(&smi, text, strlen(text));
}

#define NOTHING(text)                     \
    do {                                  \
        csv(text);                        \
        CHECK(smi.total <= 0);            \
        CHECK_EQ(smi.processes, 0);       \
    } while (0)

static bool tells(const struct verdict *of, const char *part)
{
    for (int i = 0; i < of->evidences; i++)
        if (strstr(of->evidence[i], part)) return true;
    return false;
}

/* ------------------------------------------------------------------ CSV */

TEST(a_column_is_what_the_header_names)
{
    csv("index, name, memory.total [MiB], memory.used [MiB], memory.free [MiB]\n"
        "0, NVIDIA H100 80GB HBM3, 81559 MiB, 1204 MiB, 80355 MiB\n"
        "1, NVIDIA H100 80GB HBM3, 81559 MiB, 80511 MiB, 1048 MiB\n"
        "2, NVIDIA H100 80GB HBM3, [N/A], [Insufficient Permissions], [N/A]\n");
    CHECK_NEAR(smi.total, 81559 * MIB, 0.5);
    CHECK_NEAR(smi.used, 80511 * MIB, 0.5);
    csv("memory.used [MiB], utilization.gpu [%], memory.total [MiB]\n900 MiB, 7 %, 1000 MiB\n");
    CHECK_NEAR(smi.used, 900 * MIB, 0.5);
    csv("MEMORY.FREE [MIB], MEMORY.TOTAL [MIB]\r\n100 MIB, 1000 MIB\r\n");
    CHECK_NEAR(smi.used, 900 * MIB, 0.5);
    CHECK(!smi_is_full(&smi)); /* nobody is listed */
}

TEST(numbers_without_a_unit_have_the_headers)
{
    csv("memory.total [MiB], memory.used [MiB]\n24564, 24002\n");
    CHECK_NEAR(smi.used, 24002 * MIB, 0.5);
    csv("memory.total [GiB], memory.used [GiB]\n24, 23.5\n");
    CHECK_NEAR(smi.used, 23.5 * 1024 * MIB, 0.5);
    NOTHING("memory.total, memory.used\n24564, 24002\n");
    NOTHING("memory.total [%], memory.used [%]\n24564, 24002\n");
}

TEST(without_a_header_nothing_is_guessed)
{
    NOTHING("24564 MiB, 24000 MiB\n");
    NOTHING("0, NVIDIA L4, 23034 MiB, 22871 MiB, 163 MiB\n31882, python, 22800 MiB\n");
    NOTHING("name, memory.total [MiB]\nNVIDIA L4, 23034 MiB\n");
}

/* With "noheader" the columns are those that were asked for. */
TEST(a_query_on_the_command_line_is_a_header)
{
    csv("$ nvidia-smi --query-gpu=timestamp,index,memory.total,memory.used --format=csv,noheader,nounits -l 1\n"
        "2026/03/04 10:00:00.123, 0, 24564, 24002\n2026/03/04 10:00:01.123, 0, 24564, 24102\n"
        "\n$ nvidia-smi \"--query-compute-apps=pid,used_memory\" --format=csv,noheader\n20477, 23980 MiB\n");
    CHECK_NEAR(smi.total, 24564 * MIB, 0.5);
    CHECK_NEAR(smi.used, 24102 * MIB, 0.5);
    CHECK_EQ(smi.processes, 1);
    CHECK_NEAR(smi.biggest, 23980 * MIB, 0.5);
    CHECK_EQ(smi.biggest_line, 6);
}

/* As with -l 1, or a loop in a shell. */
TEST(a_process_that_is_listed_again_is_the_same)
{
    static const char once[] = "pid, process_name, used_gpu_memory [MiB]\n7, a, 1000 MiB\n"
                               "8, python -c a, b, 3000 MiB\n";
    char text[2 * sizeof once + 40];
    snprintf(text, sizeof text, "%s%s7, a, 1200 MiB\n", once, once);
    csv(text);
    CHECK_EQ(smi.processes, 2);
    CHECK_NEAR(smi.biggest, 3000 * MIB, 0.5);
    CHECK_EQ(smi.biggest_line, 3);
    csv("gpu_uuid, used_gpu_memory [MiB]\nGPU-1, 5 MiB\nGPU-1, 5 MiB\n");
    CHECK_EQ(smi.processes, 2);
}

TEST(rows_that_do_not_fit_are_not_read)
{
    static const char *const row[] = {
        "0, 1e308, 1e308", "0, -5 MiB, -6 MiB", "0, 99999999999999999999999 MiB, 99999999999999999999998 MiB",
        "0, 1000 MiB", "0, 1000 MiB, 900 MiB, 100 MiB", "0, 1000 MiB, 2000 MiB", "0, 0 MiB, 0 MiB",
        "0, 10 00 MiB, 900 MiB", "0, MiB, MiB", "0, , ", ",,", "", "0, nan, inf", "0, 0x400, 0x3ff"};
    char text[200];
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        snprintf(text, sizeof text, "index, memory.total [MiB], memory.used [MiB]\n%s\n", row[i]);
        NOTHING(text);
    }
    NOTHING("pid, used_gpu_memory [MiB]\n7, [N/A]\n8, -1 MiB\n9, 1e308 MiB\n");
}

TEST(a_header_is_forgotten_when_its_rows_are_over)
{
    csv("pid, used_gpu_memory [MiB]\n7, 10 MiB\n\nother\n8, 20 MiB\n");
    CHECK_EQ(smi.processes, 2);
    csv("pid, used_gpu_memory [MiB]\n7, 10 MiB\n\n\n\n\n\n\n\n\n\nline\n8, 20 MiB\n");
    CHECK_EQ(smi.processes, 1);
}

TEST(more_processes_than_are_kept_are_counted_no_further)
{
    struct buf text = {0};
    buf_puts(&text, "pid, used_gpu_memory [MiB]\n");
    for (int i = 0; i < 3 * SMI_PROCESSES_MOST; i++) buf_printf(&text, "%d, %d MiB\n", i + 1, i);
    smi = (struct smi){0};
    smi_csv(&smi, text.data, text.len);
    CHECK_EQ(smi.processes, SMI_PROCESSES_MOST);
    CHECK_NEAR(smi.biggest, (3 * SMI_PROCESSES_MOST - 1) * MIB, 0.5);
    buf_free(&text);
}

/* ------------------------------------------------------------------ what is said of it */

#define GPU_ROW "| 30%   61C    P2   231W /  300W |   48910MiB /  49140MiB |     97%      Default |\n"
#define TABLE                                                                                          \
    "|   0  NVIDIA RTX 6000 Ada ...   On  |   00000000:41:00.0 Off |                    0 |\n" GPU_ROW   \
    "|  GPU   GI   CI              PID   Type   Process name                    GPU Memory |\n"          \
    "|    0   N/A  N/A           31882      C   /opt/train/bin/python3            41022MiB |\n"          \
    "|    0   N/A  N/A             912    C+G   ...\\explorer.exe                   N/A      |\n"        \
    "|    0   N/A  N/A           40110      C   /opt/render/bin/worker             7102MiB |\n"
#define CSV                                                                  \
    "index, memory.total [MiB], memory.used [MiB]\n0, 49140 MiB, 48910 MiB\n" \
    "pid, process_name, used_gpu_memory [MiB]\n31882, /opt/train/bin/python3, 41022 MiB\n40110, worker, 7102 MiB\n"

TEST(table_and_csv_say_the_same)
{
    static const char *const text[] = {TABLE, CSV, TABLE CSV};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        CHECK_EQ(explain_text(text[i], strlen(text[i]), v, EXPLAIN_MOST), 1);
        CHECK_EQ(v[0].cause, CAUSE_OTHER_PROCESS);
        CHECK_EQ(v[0].sure, SURE_GUESS);
        CHECK(tells(&v[0], "47.76 GiB of 47.99 GiB are used; of 2 processes the biggest has 40.06 GiB"));
        CHECK(tells(&v[0], "31882"));
        CHECK_EQ(verdict_has(&v[0], "total")->value, 49140ull << 20);
    }
    CHECK_EQ(explain_text(GPU_ROW, strlen(GPU_ROW), v, EXPLAIN_MOST), 0); /* full, and nobody is listed */
}

TEST(beside_a_failure_it_is_evidence_or_a_question)
{
    static const char init[] = "  torch._C._cuda_init()\nRuntimeError: CUDA error: out of memory\n" CSV;
    static const char load[] = "  in load_weights\nRuntimeError: CUDA error: out of memory\n" CSV;
    CHECK_EQ(explain_text(init, strlen(init), v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_OTHER_PROCESS);
    CHECK(tells(&v[0], "nvidia-smi: 47.76 GiB of 47.99 GiB are used"));
    CHECK_EQ(explain_text(load, strlen(load), v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_WEIGHTS);
    CHECK(!tells(&v[0], "nvidia-smi"));
    CHECK(v[0].nexts > 0 && strstr(v[0].next[0], "holds 40.06 GiB of a device that is full (line 6)"));
}

/* ------------------------------------------------------------------ a series */

/* Rows of `nvidia-smi --query-gpu=memory.used,memory.free --format=csv`, as a loop leaves them: used at row i of n. */
static void series(struct buf *text, int n, double (*used)(int i, int n))
{
    text->len = 0;
    buf_puts(text, "memory.used [MiB], memory.free [MiB]\n");
    for (int i = 0; i < n; i++) buf_printf(text, "%.0f MiB, %.0f MiB\n", used(i, n), 80000 - used(i, n));
}

static double climbing(int i, int n) { return 20000 + 50000.0 * i / n - (i % 5 == 4 ? 900 : 0); }
static double spiking(int i, int n) { return (void)n, i % 7 == 3 ? 70000 : 30000; }
static double flat(int i, int n) { return (void)n, 72000 + 20 * (i % 3); }
static double idle(int i, int n) { return (void)n, 600 + 20 * (i % 3); }
static double loading(int i, int n) { return (void)n, i < 5 ? 500 + 15000 * i : 72000; }

TEST(a_series_climbs_or_has_spikes_or_is_flat)
{
    static const struct { double (*used)(int, int); enum smi_shape shape; int rows; } row[] = {
        {climbing, SMI_CLIMBS, 40}, {climbing, SMI_CLIMBS, 4000}, {spiking, SMI_SPIKES, 40}, {flat, SMI_FLAT, 40},
        {idle, SMI_SHAPELESS, 40}, {loading, SMI_SHAPELESS, 40}, {climbing, SMI_SHAPELESS, SMI_ROWS_LEAST - 1}};
    struct buf text = {0};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const struct smi_series *of;
        series(&text, row[i].rows, row[i].used);
        csv(text.data);
        const enum smi_shape got = smi_shape(&smi, &of);
        if (got != row[i].shape) check_fail(__FILE__, __LINE__, "row %zu: %d", i, got);
        CHECK_EQ(of->rows, row[i].rows);
        CHECK_NEAR(of->total, 80000 * MIB, 2 * MIB); /* used and free are in whole MiB */
    }
    buf_free(&text);
}

/* Two devices whose rows take turns: by a column, or by their places under a header that is written each time. */
TEST(each_device_has_a_series_of_its_own)
{
    struct buf text = {0};
    const struct smi_series *of;
    buf_puts(&text, "timestamp, index, memory.used [MiB], memory.total [MiB]\n");
    for (int i = 0; i < 20; i++)
        buf_printf(&text, "2026/11/20 10:%02d:00.1, 0, 500 MiB, 80000 MiB\n"
                          "2026/11/20 10:%02d:00.1, 1, %d MiB, 80000 MiB\n", i, i, 20000 + 2000 * i);
    csv(text.data);
    CHECK_EQ(smi_shape(&smi, &of), SMI_CLIMBS);
    CHECK_EQ(of->rows, 20);
    CHECK_NEAR(of->last, 58000 * MIB, 0.5);
    text.len = 0;
    for (int i = 0; i < 20; i++)
        buf_printf(&text, "memory.used [MiB]\n%d MiB\n70000 MiB\n", 20000 + 2000 * i);
    csv(text.data);
    CHECK_EQ(smi_shape(&smi, &of), SMI_CLIMBS);
    CHECK_EQ(of->rows, 20);
    CHECK_EQ(of->total > 0, false);
    text.len = 0;
    buf_puts(&text, "index, memory.used [MiB]\n"); /* more devices than are kept, and the last are not mixed in */
    for (int i = 0; i < 40 * SMI_DEVICES_MOST; i++)
        buf_printf(&text, "%d, %d MiB\n", i % (2 * SMI_DEVICES_MOST), i % 7 * 9000);
    csv(text.data);
    CHECK_EQ(smi.devices, SMI_DEVICES_MOST);
    buf_free(&text);
}

/* "-l 1" on a machine with several devices, by the fifth seed's own command: a header, and rows that take turns. */
TEST(devices_that_take_turns_under_one_header_are_told_apart)
{
    struct buf text = {0};
    const struct smi_series *of;
    for (int devices = 2; devices <= 8; devices *= 2) {
        text.len = 0;
        buf_puts(&text, "memory.used [MiB], memory.free [MiB]\n");
        for (int i = 0; i < 40 * devices; i++) {
            const int used = i % devices == 1 ? 20000 + 1000 * (i / devices) : i % 2 ? 70000 : 12;
            buf_printf(&text, "%d MiB, %d MiB\n", used, 80000 - used);
        }
        csv(text.data);
        CHECK_EQ(smi.turns, devices);
        CHECK_EQ(smi_shape(&smi, &of), SMI_CLIMBS);
        CHECK_EQ(of->rows, 40);
        CHECK_NEAR(of->last, 59000 * MIB, 0.5);
        CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 1);
        CHECK_EQ(v[0].cause, CAUSE_LEAK);
    }
    text.len = 0; /* one device that goes up and comes back is one, however regular it is */
    buf_puts(&text, "memory.used [MiB], memory.free [MiB]\n");
    for (int i = 0; i < 200; i++) buf_printf(&text, "%d MiB, 0 MiB\n", 20000 + i % 20 * 3000);
    csv(text.data);
    CHECK_EQ(smi.turns, 0);
    buf_free(&text);
}

TEST(the_check_of_the_fifth_seed_is_read_to_a_verdict)
{
    struct buf text = {0};
    series(&text, 40, climbing);
    CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_LEAK);
    CHECK(tells(&v[0], "in 40 rows"));
    CHECK(tells(&v[0], "full 10 rows later")); /* 12150 MiB are left, and it rises by (67850 - 20000) / 39 */
    CHECK_EQ(explain_next_question(&v[0], &(struct explain_answers){0}), -1);
    buf_puts(&text, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB.\n");
    CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_LEAK);
    CHECK_EQ(v[0].line, 42);
    CHECK(tells(&v[0], "in 40 rows"));
    series(&text, 40, spiking);
    CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_KV);
    CHECK_EQ(v[0].sure, SURE_GUESS);
    series(&text, 40, flat);
    CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_NOT_MEMORY);
    CHECK(strstr(v[0].next[0], "plimsoll watch") != NULL);
    buf_puts(&text, "Segmentation fault\n");
    CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].line, 42);
    series(&text, 40, idle);
    CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 0);
    buf_free(&text);
}

/* A device that a server fills on purpose is no want of memory, and no stranger. */
TEST(a_device_that_a_server_fills_at_its_start_is_no_failure)
{
    static const char table[] = "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |\n"
                                "| N/A   41C    P0            120W /  700W |   74210MiB /  81559MiB |      0%%\n"
                                "|    0   N/A  N/A           12345      C   %s                      74192MiB |\n";
    char text[sizeof table + 40];
    static const struct { const char *name; enum cause cause; } row[] = {
        {"VLLM::EngineCore", CAUSE_NOT_MEMORY}, {"sglang::scheduler", CAUSE_NOT_MEMORY},
        {"python3", CAUSE_OTHER_PROCESS}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        snprintf(text, sizeof text, table, row[i].name);
        CHECK_EQ(explain_text(text, strlen(text), v, EXPLAIN_MOST), 1);
        CHECK_EQ(v[0].cause, row[i].cause);
        CHECK(tells(&v[0], "72.45 GiB"));
    }
}

CHECK_MAIN
