#include <flashtwin.h>
#include <stdio.h>

static void refused(const char *system, const char *const *settings, uint64_t bytes, double fill) {
    char error[300];
    flashtwin_drive *drive = flashtwin_open(system, settings, bytes, fill, error, sizeof error);
    printf("%s\n", drive ? "made" : error);
    flashtwin_close(drive);
}

int main(void) {
    const char *half[] = {"seed", NULL};
    refused("rr-sdd", NULL, 1 << 20, 0);
    refused("rr-ssd", half, 1 << 20, 0);
    refused("rr-ssd", NULL, 100, 0);
    refused("rr-ssd", NULL, 1 << 20, 2);
    refused(NULL, NULL, 1 << 20, 0);
    char tiny[1];
    if (flashtwin_open("rr-sdd", NULL, 1 << 20, 0, tiny, sizeof tiny) || tiny[0]) return 1;
    flashtwin_drive *drive = flashtwin_open("rr-ssd", NULL, 1 << 20, 0, NULL, 0);
    uint32_t content = 7;
    flashtwin_advance(drive, 10);
    if (flashtwin_submit(drive, 5, FLASHTWIN_READ, 0, 4096, NULL, FLASHTWIN_NO_STREAM) != -1) return 2;
    printf("%s\n", flashtwin_error(drive));
    if (flashtwin_submit(drive, 10, FLASHTWIN_WRITE, 0, 4096, NULL, FLASHTWIN_NO_STREAM) != -1) return 3;
    printf("%s\n", flashtwin_error(drive));
    if (flashtwin_submit(drive, 10, (enum flashtwin_op)9, 0, 4096, NULL, FLASHTWIN_NO_STREAM) != -1) return 4;
    printf("%s\n", flashtwin_error(drive));
    if (flashtwin_submit(drive, 10, FLASHTWIN_WRITE, 0, 4096, &content, 7) != 0) return 5;
    flashtwin_completion done[2];
    flashtwin_drive *twin = flashtwin_snapshot(drive);
    uint64_t next_ns = flashtwin_next_event_ns(twin);
    if (flashtwin_submit(twin, 10, FLASHTWIN_READ, 0, 4096, NULL, FLASHTWIN_NO_STREAM) != 1) return 10;
    flashtwin_close(twin);
    if (next_ns != flashtwin_next_event_ns(drive) || flashtwin_snapshot(NULL)) return 11;
    if (flashtwin_completed(drive, done, 0) != 0) return 6;
    while (flashtwin_completed(drive, done, 2) == 0) flashtwin_advance(drive, flashtwin_next_event_ns(drive));
    printf("1 done at %llu\n", (unsigned long long)done[0].done_ns);
    if (done[0].id != 0 || done[0].response_ns != done[0].done_ns - 10) return 7;
    if (flashtwin_next_event_ns(drive) != FLASHTWIN_NEVER) return 8;
    flashtwin_free(flashtwin_finish(drive));
    if (flashtwin_submit(drive, 1 << 30, FLASHTWIN_READ, 0, 4096, NULL, FLASHTWIN_NO_STREAM) != -1) return 9;
    printf("%s\n%s\n", flashtwin_error(drive), flashtwin_error(NULL));
    if (flashtwin_snapshot(drive)) return 12;
    flashtwin_free(NULL);
    flashtwin_close(drive);
    return 0;
}
