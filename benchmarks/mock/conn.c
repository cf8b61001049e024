// Sockets and TLS: bytes in, bytes out, nothing lost when a client reads slowly. Knows no HTTP.
#include "mock.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef WITH_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
static SSL_CTX *context;
#endif

static void reserve(Buffer *buffer, size_t extra) {
    if (buffer->len + extra <= buffer->cap) return;
    buffer->cap = 2 * (buffer->len + extra);
    if (!(buffer->data = realloc(buffer->data, buffer->cap))) abort();
}

void put(Buffer *buffer, const char *data, size_t len) {
    reserve(buffer, len);
    memcpy(buffer->data + buffer->len, data, len);
    buffer->len += len;
}

void put_text(Buffer *buffer, const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof text) abort();
    put(buffer, text, (size_t)len);
}

void tls_setup(const char *cert, const char *key) {
#ifdef WITH_TLS
    context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (SSL_CTX_use_certificate_chain_file(context, cert) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        ERR_print_errors_fp(stderr);
        exit(2);
    }
#else
    (void)cert, (void)key;
    fprintf(stderr, "built without TLS: install OpenSSL's headers (libssl-dev) and build again\n");
    exit(2);
#endif
}

Conn *conn_new(int fd, bool tls) {
    Conn *conn = calloc(1, sizeof *conn);
    conn->fd = fd;
#ifdef WITH_TLS
    if (tls) {
        conn->tls = SSL_new(context);
        conn->shaking = true;
        SSL_set_fd(conn->tls, fd);
        SSL_set_accept_state(conn->tls);
    }
#else
    (void)tls;
#endif
    return conn;
}

void conn_free(Conn *conn) {
    timer_drop(conn);
    if (conn->answering) note_answer(conn);
#ifdef WITH_TLS
    if (conn->tls) SSL_free(conn->tls);
#endif
    close(conn->fd);
    free(conn->in.data);
    free(conn->out.data);
    free(conn->stamps);
    free(conn);
}

#ifdef WITH_TLS
// True where the call only has to wait for the socket.
static bool tls_waits(Conn *conn, int result) {
    int why = SSL_get_error(conn->tls, result);
    if (why == SSL_ERROR_WANT_READ) return true;
    if (why == SSL_ERROR_WANT_WRITE) {
        poll_for(conn, true);
        return true;
    }
    ERR_clear_error();
    return false;
}
#endif

static ssize_t receive(Conn *conn, char *data, size_t len) {
#ifdef WITH_TLS
    if (conn->tls) {
        if (conn->shaking) {
            int done = SSL_do_handshake(conn->tls);
            if (done != 1) return tls_waits(conn, done) ? -1 : 0;
            conn->shaking = false;
        }
        int got = SSL_read(conn->tls, data, (int)len);
        if (got > 0) return got;
        return tls_waits(conn, got) ? -1 : 0;
    }
#endif
    ssize_t got = recv(conn->fd, data, len, 0);
    return got < 0 && errno != EAGAIN ? 0 : got;
}

static ssize_t transmit(Conn *conn, const char *data, size_t len) {
#ifdef WITH_TLS
    if (conn->tls) {
        int sent = SSL_write(conn->tls, data, (int)len);
        if (sent > 0) return sent;
        return tls_waits(conn, sent) ? -1 : 0;
    }
#endif
    ssize_t sent = send(conn->fd, data, len, MSG_NOSIGNAL);
    return sent < 0 && errno != EAGAIN ? 0 : sent;
}

void conn_readable(Conn *conn) {
    for (;;) {
        reserve(&conn->in, 16384);
        ssize_t got = receive(conn, conn->in.data + conn->in.len, conn->in.cap - conn->in.len - 1);
        if (got == 0) conn->dead = true;
        if (got <= 0) return;
        conn->in.len += (size_t)got;
        if (!conn->tls) return; // epoll reports the rest; TLS keeps it in its own buffer
    }
}

void conn_flush(Conn *conn) {
    while (conn->out_done < conn->out.len) {
        ssize_t sent = transmit(conn, conn->out.data + conn->out_done, conn->out.len - conn->out_done);
        if (sent == 0) conn->dead = true;
        if (sent < 0) poll_for(conn, true);
        if (sent <= 0) return;
        conn->out_done += (size_t)sent;
    }
    conn->out.len = conn->out_done = 0;
    if (conn->wants_write) poll_for(conn, false);
}

void conn_write(Conn *conn, const char *data, size_t len) {
    if (conn->dead) return;
    if (conn->out.len == 0) {
        ssize_t sent = transmit(conn, data, len);
        if (sent == 0) conn->dead = true;
        if (sent == 0 || sent == (ssize_t)len) return;
        if (sent > 0) data += sent, len -= (size_t)sent;
        stats.blocked++;
        poll_for(conn, true);
    }
    put(&conn->out, data, len);
}
