// What the files of the benchmark server share; the server itself is described in main.c.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int64_t ns_t;

typedef struct {
    char *data;
    size_t len, cap;
} Buffer;

// One accepted connection and the answer that is on its way, if any.
typedef struct Conn {
    int fd;
    bool listener, wants_write, dead;
    void *tls; // SSL*, NULL for plain sockets
    bool shaking;
    Buffer in, out;
    size_t out_done;

    bool answering, chat;
    int total, sent; // content chunks
    ns_t arrived_ns, due_ns;
    size_t timer; // position in the heap plus one, 0 while not in it
    char id[96];
    ns_t *stamps;
    int stamps_cap;
} Conn;

typedef struct {
    ns_t ttft_ns, itl_ns;
    bool lockstep; // all streams send at the same instants, as one engine step does
    int default_chunks;
} Settings;

typedef struct {
    int64_t requests, chunks, blocked, late_count;
    ns_t late_sum_ns, late_max_ns;
} Stats;

extern Settings settings;
extern Stats stats;

ns_t now_ns(void); // CLOCK_MONOTONIC, which Python's time.monotonic and time.perf_counter read too
void put(Buffer *buffer, const char *data, size_t len);
void put_text(Buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

// conn.c: sockets and TLS
void tls_setup(const char *cert, const char *key);
Conn *conn_new(int fd, bool tls);
void conn_free(Conn *conn);
void conn_readable(Conn *conn); // reads what is there into conn->in; sets dead at the end
void conn_flush(Conn *conn);
void conn_write(Conn *conn, const char *data, size_t len);
void poll_for(Conn *conn, bool write); // main.c

// answer.c: HTTP and event streams
void handle_input(Conn *conn);
void send_chunk(Conn *conn);
void note_answer(Conn *conn); // one line for GET /log

// timers.c: which stream is due next
void timer_add(Conn *conn);
void timer_drop(Conn *conn);
Conn *timer_first(void);
