// A binary heap of streams by the instant their next chunk is due; nothing here knows what a chunk is.
#include "mock.h"
#include <stdlib.h>

static Conn **heap;
static size_t count, room;

static void place(size_t at, Conn *conn) {
    heap[at] = conn;
    conn->timer = at + 1;
}

static void rise(size_t at) {
    Conn *conn = heap[at];
    for (; at && heap[(at - 1) / 2]->due_ns > conn->due_ns; at = (at - 1) / 2) place(at, heap[(at - 1) / 2]);
    place(at, conn);
}

static void sink(size_t at) {
    Conn *conn = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && heap[child + 1]->due_ns < heap[child]->due_ns) child++;
        if (heap[child]->due_ns >= conn->due_ns) break;
        place(at, heap[child]);
        at = child;
    }
    place(at, conn);
}

void timer_add(Conn *conn) {
    if (count == room) heap = realloc(heap, (room = room ? 2 * room : 1024) * sizeof *heap);
    heap[count] = conn;
    rise(count++);
}

void timer_drop(Conn *conn) {
    if (!conn->timer) return;
    size_t at = conn->timer - 1;
    conn->timer = 0;
    if (at == --count) return;
    place(at, heap[count]);
    sink(at);
    rise(heap[at]->timer - 1);
}

Conn *timer_first(void) { return count ? heap[0] : NULL; }
