/* base64.c - see base64.h. */
#include "memory/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_put(const void *bytes, size_t n, struct buf *out)
{
    const uint8_t *at = bytes;
    for (; n > 0; at += MIN(n, (size_t)3), n -= MIN(n, (size_t)3)) {
        uint32_t three = (uint32_t)at[0] << 16 | (n > 1 ? (uint32_t)at[1] << 8 : 0) | (n > 2 ? at[2] : 0);
        char four[4] = {alphabet[three >> 18], alphabet[three >> 12 & 63], n > 1 ? alphabet[three >> 6 & 63] : '=',
                        n > 2 ? alphabet[three & 63] : '='};
        buf_put(out, four, sizeof four);
    }
}

static int value(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Bits that the padding cuts off must be zero: so a run of bytes has one text. */
int base64_read(const char *text, size_t n, struct buf *out)
{
    size_t before = out->len;
    if (n % 4) return -1;
    for (size_t i = 0; i < n; i += 4) {
        int pad = i + 4 < n || text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
        uint32_t three = 0;
        bool well = true;
        for (int k = 0; k < 4; k++) {
            int v = k < 4 - pad ? value(text[i + (size_t)k]) : 0;
            well = well && v >= 0;
            three = three << 6 | ((uint32_t)v & 63);
        }
        if (!well || (pad && three & (pad == 1 ? 0xffu : 0xffffu))) {
            out->len = before;
            return -1;
        }
        uint8_t bytes[3] = {(uint8_t)(three >> 16), (uint8_t)(three >> 8), (uint8_t)three};
        buf_put(out, bytes, (size_t)(3 - pad));
    }
    return 0;
}
