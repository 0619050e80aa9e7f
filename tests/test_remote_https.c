/* test_remote_https.c - a server behind TLS: believed where its certificate is vouched for, and by whom. */
#include "engine/remote/web.h"
#include "tests/check.h"
#include "tests/gguf_make.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[400], address[64];
static pid_t server;

/* Where the files are: beside one that gguf_make_write() wrote. */
static void find_folder(void)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    snprintf(dir, sizeof dir, "%s", gguf_make_write("models", answer, sizeof answer - 1));
    *strrchr(dir, '/') = '\0';
}

/* 127: there is no such program. */
static pid_t start(const char *const *args, int out)
{
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid > 0) return pid;
    const int none = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (chdir(dir) == 0 && dup2(none, 0) == 0 && dup2(out >= 0 ? out : none, 1) == 1 && dup2(none, 2) == 2)
        execvp(*args, (char *const *)(uintptr_t)args);
    _exit(127);
}

static bool make_certificate(void)
{
    static const char *const args[] = {"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem",
                                       "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
                                       "subjectAltName=DNS:localhost", NULL};
    int status;
    const pid_t pid = start(args, -1);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (WEXITSTATUS(status) == 127) return false;
    CHECK_EQ(status, 0);
    return true;
}

/* It takes a free port, which it says: "ACCEPT 0.0.0.0:40123". */
static void start_server(void)
{
    static const char *const args[] = {"openssl", "s_server", "-accept", "127.0.0.1:0", "-key", "key.pem", "-cert",
                                       "cert.pem", "-HTTP", NULL};
    char said[4000] = "";
    size_t n = 0;
    int out[2];
    const char *at = NULL, *end = NULL;
    CHECK_EQ(pipe2(out, O_CLOEXEC), 0);
    server = start(args, out[1]);
    close(out[1]);
    while (!end) {
        struct pollfd p = {.fd = out[0], .events = POLLIN};
        CHECK_EQ(poll(&p, 1, 20000), 1);
        const ssize_t got = read(out[0], said + n, sizeof said - 1 - n);
        CHECK(got > 0);
        said[n += (size_t)got] = '\0';
        at = strstr(said, "ACCEPT ");
        end = at ? strchr(at, '\n') : NULL;
    }
    while (end[-1] < '0' || end[-1] > '9') end--;
    for (at = end; at[-1] >= '0' && at[-1] <= '9';) at--;
    snprintf(address, sizeof address, "%.*s", (int)(end - at), at);
}

/* 0, or what web_fetch() says. */
static int fetch(const char *host, const char *trusted, struct err *err)
{
    char url[128];
    struct buf out = {0};
    long status = 0;
    if (trusted) setenv("SSL_CERT_FILE", trusted, 1);
    else unsetenv("SSL_CERT_FILE");
    snprintf(url, sizeof url, "https://%s:%s", host, address);
    struct web *w = web_open(url, NULL, err);
    CHECK(w != NULL);
    const int rc = web_fetch(w, "/models", NULL, 20, 100, &out, &status, err);
    if (rc == 0) CHECK(status == 200 && out.len == 2);
    web_close(w);
    buf_free(&out);
    return rc;
}

TEST(remote_https_is_believed_by_whom_it_is_vouched_for)
{
    struct err err = {0};
    char cert[500], key[500];
    find_folder();
    if (!make_certificate()) SKIP("there is no program openssl");
    start_server();
    snprintf(cert, sizeof cert, "%s/cert.pem", dir);
    snprintf(key, sizeof key, "%s/none.pem", dir);
    CHECK_EQ(fetch("localhost", cert, &err), 0);
    CHECK_EQ(fetch("localhost", NULL, &err), -1);
    CHECK(strstr(err.text, "/models: SSL certificate problem: "));
    CHECK(strstr(err.text, "; if it is to be trusted, put its file into SSL_CERT_FILE"));
    CHECK_EQ(fetch("127.0.0.1", cert, &err), -1); /* another's name */
    CHECK(!strstr(err.text, "SSL_CERT_FILE"));
    CHECK_EQ(fetch("localhost", key, &err), -1);
    CHECK(strstr(err.text, "none.pem; SSL_CERT_FILE names it: a file of certificates in PEM, or unset it"));
    CHECK_EQ(fetch("localhost", "", &err), -1); /* as if it were not set */
    unsetenv("SSL_CERT_FILE");
    kill(server, SIGKILL);
    CHECK_EQ(waitpid(server, NULL, 0), server);
}

CHECK_MAIN
