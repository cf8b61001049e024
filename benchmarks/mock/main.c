// The benchmarks' inference server: one thread, one chunk per send(), every chunk stamped with its true send instant.
//
//   mock PORT [TLS_PORT CERT KEY]     loopback only; GET /set?ttft_us=..&itl_us=..&lockstep=0|1 also clears the log
//
// It must never be what limits a client, so it does nothing but pace and send: no real tokens, no metrics page.
#define _GNU_SOURCE
#include "mock.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 1024 };
Settings settings = {.ttft_ns = 50000000, .itl_ns = 20000000, .default_chunks = 64};
Stats stats;
static int poller;

ns_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void watch(int action, Conn *conn, bool write) {
    struct epoll_event event = {.events = write ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = conn};
    if (epoll_ctl(poller, action, conn->fd, &event)) perror("epoll_ctl");
}

void poll_for(Conn *conn, bool write) {
    if (conn->wants_write == write) return;
    conn->wants_write = write;
    watch(EPOLL_CTL_MOD, conn, write);
}

static Conn *listen_on(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 4096)) {
        perror("bind");
        exit(2);
    }
    Conn *conn = calloc(1, sizeof *conn);
    conn->fd = fd;
    conn->listener = true;
    watch(EPOLL_CTL_ADD, conn, false);
    return conn;
}

static void accept_all(Conn *listener, bool tls) {
    int fd, one = 1;
    while ((fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        watch(EPOLL_CTL_ADD, conn_new(fd, tls), false);
    }
}

static void serve(Conn *conn, uint32_t events) {
    if (events & EPOLLOUT) {
        poll_for(conn, false);
        conn_flush(conn);
    }
    conn_readable(conn);
    if (!conn->dead) handle_input(conn);
    if (conn->dead) conn_free(conn);
}

static void send_due(void) {
    ns_t now = now_ns();
    for (Conn *conn; (conn = timer_first()) && conn->due_ns <= now;) {
        ns_t late_ns = now_ns() - conn->due_ns;
        stats.late_sum_ns += late_ns;
        stats.late_count++;
        if (late_ns > stats.late_max_ns) stats.late_max_ns = late_ns;
        timer_drop(conn);
        send_chunk(conn);
        conn->due_ns += settings.itl_ns;
        if (conn->dead) conn_free(conn);
        else if (conn->answering) timer_add(conn);
        else handle_input(conn);
    }
}

static int wait_for(struct epoll_event *events) {
    Conn *first = timer_first();
    if (!first) return epoll_wait(poller, events, EVENTS, -1);
    ns_t left_ns = first->due_ns - now_ns();
    if (left_ns < 0) left_ns = 0;
    struct timespec wait = {left_ns / 1000000000, left_ns % 1000000000};
    return epoll_pwait2(poller, events, EVENTS, &wait, NULL);
}

int main(int count, char **words) {
    if (count != 2 && count != 5) {
        fprintf(stderr, "usage: mock PORT [TLS_PORT CERT KEY]\n");
        return 2;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1UL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); // never outlives the benchmark
    poller = epoll_create1(EPOLL_CLOEXEC);
    Conn *secure = NULL;
    listen_on(atoi(words[1]));
    if (count == 5) {
        tls_setup(words[3], words[4]);
        secure = listen_on(atoi(words[2]));
    }
    printf("ready\n");
    fflush(stdout);
    static struct epoll_event events[EVENTS];
    for (;;) {
        int found = wait_for(events);
        if (found < 0 && errno != EINTR) {
            perror("epoll_pwait2");
            return 1;
        }
        for (int i = 0; i < found; i++) {
            Conn *conn = events[i].data.ptr;
            if (conn->listener) accept_all(conn, conn == secure);
            else serve(conn, events[i].events);
        }
        send_due();
    }
}
