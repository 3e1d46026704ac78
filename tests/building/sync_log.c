/* Records what reaches the disk: preload it into a program (LD_PRELOAD), with SYNC_LOG_ROOT, the folder that is
 * watched, and SYNC_LOG, a folder for the record.
 *
 * At each fsync or fdatasync of a file below the root its content is copied to SYNC_LOG/blobs/N; at each of a
 * folder nothing is copied, since the tree is listed anyway. At each sync, rename, link, unlink and the like an
 * event is written to SYNC_LOG/events, followed by a listing of the whole tree after it:
 *
 *     event N KIND INODE
 *     d|f|l INODE MODE PATH        (one line each; PATH is relative to the root, which is .)
 *
 * INODE is the number and the time of birth, so that a number that is used again is another one. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static __thread int busy;

static const char *root(void) { return getenv("SYNC_LOG_ROOT"); }

static int inode_of(int at, const char *path, int flags, char *out, size_t size, unsigned *mode) {
    struct statx s;
    if (statx(at, path, flags | AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME | STATX_MODE, &s)) return -1;
    snprintf(out, size, "%llu-%lld.%u", (unsigned long long)s.stx_ino, (long long)s.stx_btime.tv_sec,
             s.stx_btime.tv_nsec);
    if (mode) *mode = s.stx_mode;
    return 0;
}

static void list_tree(FILE *out, const char *folder, const char *prefix) {
    DIR *dir = opendir(folder);
    if (!dir) return;
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        char path[4096], relative[4096], inode[96];
        unsigned mode;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(relative, sizeof relative, "%s%s", prefix, entry->d_name);
        if (inode_of(AT_FDCWD, path, 0, inode, sizeof inode, &mode)) continue;
        fprintf(out, "%c %s %o %s\n", S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : 'f', inode, mode & 07777,
                relative);
        if (S_ISDIR(mode)) {
            strncat(relative, "/", sizeof relative - strlen(relative) - 1);
            list_tree(out, path, relative);
        }
    }
    closedir(dir);
}

static void copy(int from, const char *to) {
    char buffer[65536];
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    off_t at = 0;
    ssize_t size;
    while (out >= 0 && (size = pread(from, buffer, sizeof buffer, at)) > 0) {
        if (write(out, buffer, size) != size) abort();
        at += size;
    }
    close(out);
}

/* Writes one event; `descriptor` is the file that was synced, or -1. */
static void note(const char *kind, int descriptor) {
    const char *log = getenv("SYNC_LOG"), *watched = root();
    char path[4096], inode[96] = "-", number[32] = "";
    if (busy || !log || !watched) return;
    int saved = errno;
    busy = 1;
    snprintf(path, sizeof path, "%s/count", log);
    int counter = open(path, O_RDWR | O_CREAT, 0600);
    if (counter < 0) abort();
    flock(counter, LOCK_EX);
    ssize_t got = pread(counter, number, sizeof number - 1, 0);
    long event = got > 0 ? atol(number) : 0;
    unsigned mode = 0;
    if (descriptor >= 0 && inode_of(descriptor, "", AT_EMPTY_PATH, inode, sizeof inode, &mode)) abort();
    if (descriptor >= 0 && S_ISREG(mode)) {
        char name[64];
        snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
        int again = open(name, O_RDONLY);
        snprintf(path, sizeof path, "%s/blobs/%ld", log, event);
        if (again >= 0) copy(again, path);
        close(again);
    }
    snprintf(path, sizeof path, "%s/events", log);
    FILE *out = fopen(path, "a");
    if (!out) abort();
    fprintf(out, "event %ld %s %s\n", event, kind, inode);
    if (!inode_of(AT_FDCWD, watched, 0, inode, sizeof inode, &mode))
        fprintf(out, "d %s %o .\n", inode, mode & 07777);
    list_tree(out, watched, "");
    fclose(out);
    int length = snprintf(number, sizeof number, "%ld\n", event + 1);
    if (pwrite(counter, number, length, 0) != length) abort();
    close(counter);
    busy = 0;
    errno = saved;
}

/* Whether the open file lies below the root; it may have lost its name. */
static int is_watched(int descriptor) {
    char link[64], path[4096];
    const char *watched = root();
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0 || !watched) return 0;
    path[size] = 0;
    return !strncmp(path, watched, strlen(watched));
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int synced(int result, int descriptor) {
    if (!result && !busy && is_watched(descriptor)) note("sync", descriptor);
    return result;
}

static int named(int result, const char *kind) {
    if (!result) note(kind, -1);
    return result;
}

int fsync(int descriptor) { return synced(REAL(fsync)(descriptor), descriptor); }
int fdatasync(int descriptor) { return synced(REAL(fdatasync)(descriptor), descriptor); }
int rename(const char *a, const char *b) { return named(REAL(rename)(a, b), "rename"); }
int renameat(int i, const char *a, int j, const char *b) { return named(REAL(renameat)(i, a, j, b), "rename"); }
int renameat2(int i, const char *a, int j, const char *b, unsigned f) {
    return named(REAL(renameat2)(i, a, j, b, f), "rename");
}
int link(const char *a, const char *b) { return named(REAL(link)(a, b), "link"); }
int linkat(int i, const char *a, int j, const char *b, int f) { return named(REAL(linkat)(i, a, j, b, f), "link"); }
int unlink(const char *a) { return named(REAL(unlink)(a), "unlink"); }
int unlinkat(int i, const char *a, int f) { return named(REAL(unlinkat)(i, a, f), "unlink"); }
int mkdir(const char *a, mode_t m) { return named(REAL(mkdir)(a, m), "mkdir"); }
