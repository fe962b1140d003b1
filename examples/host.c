/* A host in C: four threads read and a fifth writes; each thinks for 50 us between its requests.
 *
 *   cargo build --release -p flashtwin-c
 *   cc -o host examples/host.c -Icrates/capi/include -Ltarget/release -lflashtwin -Wl,-rpath,target/release && ./host */

#include <flashtwin.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 5, REQUESTS = 2000, PAGES = 4096 };
#define THINK_NS 50000u

int main(void) {
    char error[512];
    const char *settings[] = {"replay.preload=footprint", "seed=1", NULL};
    flashtwin_drive *drive = flashtwin_open("rr-ssd", settings, PAGES * 4096ull, 0.9, error, sizeof error);
    if (!drive) return fprintf(stderr, "%s\n", error), 1;
    uint64_t wakes[THREADS] = {0}; /* when each thread asks next; NEVER while it waits for an answer */
    static int thread_of[REQUESTS];
    uint64_t sum_ns = 0, answered = 0;
    int64_t submitted = 0;
    srand(1);
    while (answered < REQUESTS) {
        int first = 0;
        for (int thread = 1; thread < THREADS; thread++)
            if (wakes[thread] < wakes[first]) first = thread;
        uint64_t next_ns = flashtwin_next_event_ns(drive);
        if (submitted < REQUESTS && wakes[first] <= next_ns) {
            enum flashtwin_op op = first == 4 ? FLASHTWIN_WRITE : FLASHTWIN_READ;
            uint32_t content = rand() % 100;
            uint64_t page = rand() % PAGES;
            int64_t id = flashtwin_submit(drive, wakes[first], op, page * 4096, 4096,
                                          op == FLASHTWIN_WRITE ? &content : NULL, FLASHTWIN_NO_STREAM);
            if (id < 0) return fprintf(stderr, "%s\n", flashtwin_error(drive)), 1;
            thread_of[id] = first;
            wakes[first] = FLASHTWIN_NEVER;
            submitted++;
        } else if (flashtwin_advance(drive, next_ns) != 0) {
            return fprintf(stderr, "%s\n", flashtwin_error(drive)), 1;
        }
        flashtwin_completion done[16];
        size_t many;
        while ((many = flashtwin_completed(drive, done, 16)) > 0)
            for (size_t at = 0; at < many; at++, answered++) {
                sum_ns += done[at].response_ns;
                wakes[thread_of[done[at].id]] = done[at].done_ns + THINK_NS;
            }
    }
    printf("%d requests in %llu ns, %llu ns each\n", REQUESTS, (unsigned long long)flashtwin_now_ns(drive),
           (unsigned long long)(sum_ns / REQUESTS));
    char *summary = flashtwin_finish(drive);
    if (!summary) return fprintf(stderr, "%s\n", flashtwin_error(drive)), 1;
    printf("%.60s...\n", summary);
    flashtwin_free(summary);
    flashtwin_close(drive);
    return 0;
}
