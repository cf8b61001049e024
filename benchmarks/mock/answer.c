// HTTP and event streams: what a client asks for, and chunks that carry the true instant of their own sending.
//
// Every chunk's id is "cmpl-<hex of its send stamp in ns>-<the client's X-Request-Id>"; GET /log lists, per ended
// answer (cut off or not), when it was asked for and when each chunk was sent: clients that keep no text join by id.
#define _GNU_SOURCE
#include "mock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

static const char *const WORDS[] = {" the", " model", " of", " request", " and", " latency", " a", " token"};
static const char STREAM_HEAD[] = "HTTP/1.1 200 OK\r\ndate: Sun, 30 Nov 2025 03:00:00 GMT\r\nserver: uvicorn\r\n"
                                  "content-type: text/event-stream; charset=utf-8\r\n"
                                  "transfer-encoding: chunked\r\n\r\n";
static const char MODELS[] = "{\"object\":\"list\",\"data\":[{\"id\":\"mock\",\"object\":\"model\",\"created\":1,"
                             "\"owned_by\":\"vllm\",\"root\":\"mock\",\"max_model_len\":32768}]}";
enum { PROMPT_TOKENS = 16 };
static Buffer log_lines;

static void whole(Conn *conn, const char *status, const char *type, const char *body, size_t len) {
    Buffer page = {0};
    put_text(&page, "HTTP/1.1 %s\r\nserver: uvicorn\r\ncontent-type: %s\r\ncontent-length: %zu\r\n\r\n", status, type,
             len);
    put(&page, body, len);
    conn_write(conn, page.data, page.len);
    free(page.data);
}

static void event(Conn *conn, const char *json, int len, const char *tail) {
    char wire[1536];
    int size = snprintf(wire, sizeof wire, "%x\r\ndata: %.*s\n\n\r\n%s", len + 8, len, json, tail);
    conn_write(conn, wire, (size_t)size);
}

void note_answer(Conn *conn) {
    put_text(&log_lines, "%s %lld", conn->id, (long long)conn->arrived_ns);
    for (int i = 0; i < conn->sent; i++) put_text(&log_lines, " %lld", (long long)(conn->stamps[i] - conn->arrived_ns));
    put(&log_lines, "\n", 1);
    stats.requests++;
}

void send_chunk(Conn *conn) {
    char json[1024];
    bool last = conn->sent == conn->total - 1;
    const char *word = WORDS[conn->sent & 7], *why = last ? "\"length\"" : "null";
    ns_t stamp = now_ns();
    int len;
    if (conn->chat)
        len = snprintf(json, sizeof json,
                       "{\"id\":\"cmpl-%llx-%s\",\"object\":\"chat.completion.chunk\",\"created\":1764471600,"
                       "\"model\":\"mock\",\"choices\":[{\"index\":0,\"delta\":{%s\"content\":\"%s\"},"
                       "\"logprobs\":null,\"finish_reason\":%s,\"token_ids\":null}]}",
                       (long long)stamp, conn->id, conn->sent ? "" : "\"role\":\"assistant\",", word, why);
    else
        len = snprintf(json, sizeof json,
                       "{\"id\":\"cmpl-%llx-%s\",\"object\":\"text_completion\",\"created\":1764471600,"
                       "\"model\":\"mock\",\"choices\":[{\"index\":0,\"text\":\"%s\",\"logprobs\":null,"
                       "\"finish_reason\":%s,\"stop_reason\":null,\"token_ids\":null}],\"usage\":null}",
                       (long long)stamp, conn->id, word, why);
    event(conn, json, len, "");
    conn->stamps[conn->sent++] = stamp;
    stats.chunks++;
    if (!last) return;
    len = snprintf(json, sizeof json,
                   "{\"id\":\"cmpl-%s\",\"object\":\"%s\",\"created\":1764471600,\"model\":\"mock\",\"choices\":[],"
                   "\"usage\":{\"prompt_tokens\":%d,\"total_tokens\":%d,\"completion_tokens\":%d}}",
                   conn->id, conn->chat ? "chat.completion.chunk" : "text_completion", PROMPT_TOKENS,
                   PROMPT_TOKENS + conn->total, conn->total);
    event(conn, json, len, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
    conn->answering = false;
    note_answer(conn);
}

// The text of a header, cut at the line's end; "" where it is absent.
static void header(const char *head, const char *name, char *value, size_t room) {
    const char *at = strcasestr(head, name);
    value[0] = 0;
    if (!at) return;
    at += strlen(name);
    at += strspn(at, " ");
    size_t len = strcspn(at, "\r\n");
    if (len >= room) len = room - 1;
    memcpy(value, at, len);
    value[len] = 0;
}

static int asked_tokens(const char *body) {
    const char *at = strstr(body, "\"max_completion_tokens\"");
    if (!at) at = strstr(body, "\"max_tokens\"");
    int tokens = at ? atoi(strchr(at, ':') + 1) : settings.default_chunks;
    return tokens > 0 ? tokens : 1;
}

static void complete(Conn *conn, const char *head, const char *body) {
    static long long unnamed;
    conn->arrived_ns = now_ns();
    conn->chat = !strncmp(head, "POST /v1/chat", 13);
    header(head, "\r\nx-request-id:", conn->id, sizeof conn->id);
    if (!conn->id[0]) snprintf(conn->id, sizeof conn->id, "unnamed-%lld", unnamed++);
    if (!strstr(body, "\"stream\":true") && !strstr(body, "\"stream\": true")) {
        const char *text = conn->chat
            ? "{\"id\":\"x\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"mock\",\"choices\":[{\"index\":0,"
              "\"message\":{\"role\":\"assistant\",\"content\":\" the\"},\"finish_reason\":\"length\"}],"
              "\"usage\":{\"prompt_tokens\":16,\"total_tokens\":17,\"completion_tokens\":1}}"
            : "{\"id\":\"x\",\"object\":\"text_completion\",\"created\":1,\"model\":\"mock\",\"choices\":[{\"index\":0,"
              "\"text\":\" the\",\"finish_reason\":\"length\"}],"
              "\"usage\":{\"prompt_tokens\":16,\"total_tokens\":17,\"completion_tokens\":1}}";
        whole(conn, "200 OK", "application/json", text, strlen(text));
        return;
    }
    conn->total = asked_tokens(body);
    conn->sent = 0;
    conn->answering = true;
    if (conn->stamps_cap < conn->total)
        conn->stamps = realloc(conn->stamps, (size_t)(conn->stamps_cap = conn->total) * sizeof *conn->stamps);
    conn_write(conn, STREAM_HEAD, sizeof STREAM_HEAD - 1);
    conn->due_ns = conn->arrived_ns + settings.ttft_ns;
    if (settings.lockstep) conn->due_ns = (conn->due_ns / settings.itl_ns + 1) * settings.itl_ns;
    timer_add(conn);
}

static void set_number(const char *query, const char *name, ns_t unit, ns_t *value) {
    const char *at = strstr(query, name);
    if (at) *value = unit * atoll(at + strlen(name));
}

static void configure(Conn *conn, const char *query) {
    ns_t lockstep = settings.lockstep;
    set_number(query, "ttft_us=", 1000, &settings.ttft_ns);
    set_number(query, "itl_us=", 1000, &settings.itl_ns);
    set_number(query, "lockstep=", 1, &lockstep);
    settings.lockstep = lockstep != 0;
    if (settings.itl_ns < 1000) settings.itl_ns = 1000;
    stats = (Stats){0};
    log_lines.len = 0;
    whole(conn, "200 OK", "text/plain", "set\n", 4);
}

static void tell_stats(Conn *conn) {
    Buffer text = {0};
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double cpu_s = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                   (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    double late_us = stats.late_count ? (double)stats.late_sum_ns / 1e3 / (double)stats.late_count : 0;
    put_text(&text, "{\"requests\":%lld,\"chunks\":%lld,\"blocked\":%lld,\"late_mean_us\":%.1f,\"late_max_us\":%.1f,"
                    "\"cpu_s\":%.3f}", (long long)stats.requests, (long long)stats.chunks, (long long)stats.blocked,
             late_us, (double)stats.late_max_ns / 1e3, cpu_s);
    whole(conn, "200 OK", "application/json", text.data, text.len);
    free(text.data);
}

static void route(Conn *conn, char *head, char *body) {
    if (!strncmp(head, "POST /v1/c", 10)) complete(conn, head, body);
    else if (!strncmp(head, "GET /v1/models", 14)) whole(conn, "200 OK", "application/json", MODELS, sizeof MODELS - 1);
    else if (!strncmp(head, "GET /set?", 9)) configure(conn, head);
    else if (!strncmp(head, "GET /stats", 10)) tell_stats(conn);
    else if (!strncmp(head, "GET /log", 8)) whole(conn, "200 OK", "text/plain", log_lines.data, log_lines.len);
    else if (!strncmp(head, "GET /health", 11)) whole(conn, "200 OK", "text/plain", "", 0);
    else whole(conn, "404 Not Found", "text/plain", "", 0);
}

void handle_input(Conn *conn) {
    while (!conn->answering && conn->in.len) {
        char *end = memmem(conn->in.data, conn->in.len, "\r\n\r\n", 4), number[24];
        if (!end) return;
        *end = 0;
        header(conn->in.data, "\r\ncontent-length:", number, sizeof number);
        size_t head_len = (size_t)(end - conn->in.data) + 4, body_len = strtoul(number, NULL, 10);
        if (conn->in.len < head_len + body_len) {
            *end = '\r';
            return;
        }
        char *body = end + 4, kept = body[body_len];
        body[body_len] = 0; // conn.c keeps a byte of room behind what it read
        route(conn, conn->in.data, body);
        body[body_len] = kept;
        conn->in.len -= head_len + body_len;
        memmove(conn->in.data, body + body_len, conn->in.len);
    }
}
