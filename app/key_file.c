/* key_file.c - see key_file.h. */
#include "app/key_file.h"
#include "app/app.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_MOST = 512, KEY_LEAST = 8 };

int key_file_read(const char *flag, const char *path, struct buf *key, struct err *err)
{
    char text[KEY_MOST + 1];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        const char *why = fd < 0 ? strerror(errno) : "it is no file";
        if (fd >= 0) close(fd);
        return err_set(err, EXIT_USAGE, "%s %.200s: %s", flag, path, why);
    }
    ssize_t n = read(fd, text, sizeof text);
    close(fd);
    size_t len = 0;
    while (n > 0 && len < (size_t)n && text[len] > ' ' && text[len] < 0x7f) len++;
    if (len < KEY_LEAST || len > KEY_MOST || (len < (size_t)MAX(n, 0) && text[len] != '\n' && text[len] != '\r'))
        return err_set(err, EXIT_USAGE, "%s %.200s: its first line is to be a key of %d to %d letters, digits "
                       "and signs without blanks", flag, path, KEY_LEAST, KEY_MOST);
    buf_put(key, text, len);
    return key->failed ? err_set(err, EXIT_INTERNAL, "no memory for the key") : 0;
}
