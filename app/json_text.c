/* json_text.c - see json_text.h. */
#include "app/json_text.h"
#include "app/term_filter.h"

json_t *json_text(const char *s)
{
    struct buf b = {0};
    json_t *text = json_string(s);
    if (text) return text;
    term_filter_text(s, strlen(s), true, &b);
    text = json_string(b.data ? b.data : "");
    buf_free(&b);
    return text;
}
