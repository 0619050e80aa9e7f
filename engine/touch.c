/* touch.c - a byte of every small page, in stretches; after each it says how far it is. */
#include "engine/touch.h"

enum { PAGE = 4096, STRETCH = 4 << 20 };

static void *run(void *arg)
{
    struct touch *t = arg;
    for (size_t at = 0; at < t->bytes && !atomic_load_explicit(&t->stop, memory_order_relaxed);) {
        size_t end = MIN(at + STRETCH, t->bytes);
        for (; at < end; at += PAGE) ((volatile unsigned char *)t->slab)[at] = 0;
        at = end;
        pthread_mutex_lock(&t->lock);
        atomic_store_explicit(&t->done, end, memory_order_release);
        pthread_cond_broadcast(&t->more);
        pthread_mutex_unlock(&t->lock);
    }
    return NULL;
}

int touch_open(struct touch *t, void *slab, size_t bytes, struct err *err)
{
    memset(t, 0, sizeof *t);
    t->slab = slab;
    t->bytes = bytes;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->more, NULL);
    int rc = pthread_create(&t->thread, NULL, run, t);
    if (rc) return err_set(err, -1, "no thread to take the KV pool's memory: %s", strerror(rc));
    t->started = true;
    return 0;
}

void touch_close(struct touch *t)
{
    if (!t->slab) return;
    atomic_store_explicit(&t->stop, true, memory_order_relaxed);
    if (t->started) pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->more);
    pthread_mutex_destroy(&t->lock);
    t->slab = NULL;
}

size_t touch_done(struct touch *t) { return atomic_load_explicit(&t->done, memory_order_acquire); }

size_t touch_wait(struct touch *t, size_t more)
{
    pthread_mutex_lock(&t->lock);
    while (touch_done(t) <= more && touch_done(t) < t->bytes) pthread_cond_wait(&t->more, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return touch_done(t);
}
