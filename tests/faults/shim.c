/* Stands between a process and its files, below one folder (LD_PRELOAD).
 *
 * Every file operation below FAULT_ROOT is numbered 1, 2, 3 ... At number FAULT_AT
 * something happens, by FAULT_HOW:
 *
 *   count              nothing
 *   kill-before        the process dies, the operation was not done
 *   kill-after         the process dies, the operation was done
 *   kill-inside        a write is done by half, and the process dies
 *   error:N            the operation fails with errno N
 *   short              a write is done by half and says so
 *   signal:N           the process gets signal N, the operation goes on
 *
 * `:on` at the end makes it last: every later operation fails too (of EINTR every other
 * one, so that a repetition succeeds, and no lock; after a short write every write finds the
 * disk full). With `:same` at the end only operations of the same name fail from then on.
 * FAULT_TRACE names a file that gets a line for each operation, `number name offset length
 * result path`; with FAULT_DATA=1 the bytes written follow, and what went to standard
 * output is noted as `answer`. A process that is running can call fault_arm instead.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES_MAX 4096

static char root[PATH_MAX];
static size_t root_length;
static long at, counted;
static int lasting, only_same, interrupted, number, with_data, trace = -1;
static const char *failed;
static char how[32] = "count";
static char *paths[FILES_MAX];

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static ssize_t write_plainly(int fd, const void *bytes, size_t count)
{
    REAL(write);
    return real(fd, bytes, count);
}

void fault_arm(const char *folder, long when, const char *what, const char *file, int data)
{
    char *colon;
    REAL(open);
    root_length = snprintf(root, sizeof root, "%s", folder);
    at = when;
    counted = interrupted = 0;
    with_data = data;
    snprintf(how, sizeof how, "%s", what);
    only_same = (colon = strstr(how, ":same")) != NULL;
    lasting = only_same || (colon = strstr(how, ":on")) != NULL;
    if (colon) *colon = 0;
    number = (colon = strchr(how, ':')) ? atoi(colon + 1) : 0;
    if (colon) *colon = 0;
    if (file && *file)
        trace = real(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

long fault_counted(void) { return counted; }

__attribute__((constructor)) static void start(void)
{
    const char *folder = getenv("FAULT_ROOT"), *when = getenv("FAULT_AT");
    const char *what = getenv("FAULT_HOW"), *data = getenv("FAULT_DATA");
    if (folder)
        fault_arm(folder, when ? atol(when) : 0, what ? what : "count",
                  getenv("FAULT_TRACE"), data && *data == '1');
}

/* The path without its dots, when it lies below the folder; else NULL. */
static char *below(int folder, const char *path, char *out)
{
    char start[PATH_MAX] = "", link[64];
    if (!root_length || !path) return NULL;
    if (*path != '/') {
        if (folder == AT_FDCWD) {
            if (!getcwd(start, sizeof start)) return NULL;
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            ssize_t length = readlink(link, start, sizeof start - 1);
            if (length < 0) return NULL;
            start[length] = 0;
        }
    }
    if (strlen(start) + strlen(path) + 2 > PATH_MAX) return NULL;
    strcpy(out, start);
    if (*path != '/') strcat(out, "/");
    strcat(out, path);
    if (strncmp(out, root, root_length)) return NULL;
    return out[root_length] == '/' || !out[root_length] ? out : NULL;
}

static const char *path_of(int fd) { return fd >= 0 && fd < FILES_MAX ? paths[fd] : NULL; }

static void note(const char *name, long long offset, long long length, long long result,
                 const char *path, const void *bytes)
{
    char line[2 * PATH_MAX + 128];
    if (trace < 0) return;
    int size = snprintf(line, sizeof line, "%ld %s %lld %lld %lld %s\n", counted, name,
                        offset, length, result, path);
    if (write_plainly(trace, line, size) != size) abort();
    if (bytes && with_data && length > 0
        && write_plainly(trace, bytes, length) != length) abort();
}

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

static int is_write(const char *name) { return strstr(name, "write") != NULL; }

/* Count an operation; return 1 when it must fail, with errno set. */
static int before(const char *name, const char *path)
{
    counted++;
    if (!at || counted < at || (counted > at && !lasting)) return 0;
    if (counted == at) failed = name;
    if (only_same && strcmp(name, failed)) return 0;
    if (!strcmp(how, "kill-before")) die();
    if (!strcmp(how, "kill-inside") && !is_write(name)) die();
    if (!strcmp(how, "signal")) raise(number);
    if (!strcmp(how, "short") && counted > at && is_write(name)) {
        errno = ENOSPC;
        goto fail;
    }
    if (!strcmp(how, "error") && number == EINTR && lasting) {
        /* A lock that is only tried is never interrupted; all else is, once each time. */
        interrupted = strcmp(name, "lock") && !interrupted;
        if (!interrupted) return 0;
    }
    if (!strcmp(how, "error")) {
        errno = number;
        goto fail;
    }
    return 0;
fail:;
    int failure = errno;
    note(name, 0, 0, -failure, path, NULL);
    errno = failure;
    return 1;
}

static void after(const char *name, long long offset, long long length, long long result,
                  const char *path, const void *bytes)
{
    int failure = errno;
    if (counted == at && !strcmp(how, "kill-after")) die();
    note(name, offset, length, result < 0 ? -failure : result, path, bytes);
    errno = failure;
}

/* How much of a write is to be done now. */
static size_t portion(size_t count)
{
    int now = counted == at && (!strcmp(how, "short") || !strcmp(how, "kill-inside"));
    return now && count > 1 ? count / 2 : count;
}

static void after_write(const char *name, long long offset, ssize_t result,
                        const char *path, const void *bytes)
{
    if (counted == at && !strcmp(how, "kill-inside")) die();
    after(name, offset, result > 0 ? result : 0, result, path, bytes);
}

/* --- Names ------------------------------------------------------------------------- */

static int opened(int fd, const char *path, int flags, int mode)
{
    if (fd >= 0 && fd < FILES_MAX) {
        free(paths[fd]);
        paths[fd] = strdup(path);
    }
    after("open", flags, mode, fd, path, NULL);
    return fd;
}

#define OPEN(name, parameters, folder, arguments) \
    int name parameters \
    { \
        char full[PATH_MAX]; \
        mode_t mode = 0; \
        REAL(name); \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list list; \
            va_start(list, flags); \
            mode = va_arg(list, mode_t); \
            va_end(list); \
        } \
        if (!below(folder, path, full)) return real arguments; \
        if (before("open", full)) return -1; \
        return opened(real arguments, full, flags, mode); \
    }
OPEN(open, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPEN(openat, (int at_fd, const char *path, int flags, ...), at_fd, (at_fd, path, flags, mode))
OPEN(openat64, (int at_fd, const char *path, int flags, ...), at_fd,
     (at_fd, path, flags, mode))

#define ONE_PATH(name, label, parameters, folder, arguments, size) \
    int name parameters \
    { \
        char full[PATH_MAX]; \
        REAL(name); \
        if (!below(folder, path, full)) return real arguments; \
        if (before(label, full)) return -1; \
        int result = real arguments; \
        after(label, 0, size, result, full, NULL); \
        return result; \
    }
ONE_PATH(unlink, "unlink", (const char *path), AT_FDCWD, (path), 0)
ONE_PATH(unlinkat, "unlink", (int fd, const char *path, int flags), fd, (fd, path, flags), 0)
ONE_PATH(rmdir, "unlink", (const char *path), AT_FDCWD, (path), 0)
ONE_PATH(mkdir, "mkdir", (const char *path, mode_t mode), AT_FDCWD, (path, mode), mode)
ONE_PATH(mkdirat, "mkdir", (int fd, const char *path, mode_t mode), fd, (fd, path, mode), mode)
ONE_PATH(symlink, "symlink", (const char *target, const char *path), AT_FDCWD,
         (target, path), 0)
ONE_PATH(symlinkat, "symlink", (const char *target, int fd, const char *path), fd,
         (target, fd, path), 0)
ONE_PATH(chmod, "chmod", (const char *path, mode_t mode), AT_FDCWD, (path, mode), mode)
ONE_PATH(truncate, "truncate", (const char *path, off_t size), AT_FDCWD, (path, size), size)
ONE_PATH(truncate64, "truncate", (const char *path, off64_t size), AT_FDCWD, (path, size),
         size)

#define TWO_PATHS(name, label, parameters, from, to, arguments) \
    int name parameters \
    { \
        char one[PATH_MAX], two[PATH_MAX], both[2 * PATH_MAX]; \
        REAL(name); \
        if (!below(from, old, one) || !below(to, new, two)) return real arguments; \
        snprintf(both, sizeof both, "%s\t%s", one, two); \
        if (before(label, both)) return -1; \
        int result = real arguments; \
        after(label, 0, 0, result, both, NULL); \
        return result; \
    }
TWO_PATHS(rename, "rename", (const char *old, const char *new), AT_FDCWD, AT_FDCWD, (old, new))
TWO_PATHS(renameat, "rename", (int a, const char *old, int b, const char *new), a, b,
          (a, old, b, new))
TWO_PATHS(renameat2, flags & RENAME_EXCHANGE ? "exchange" : "rename",
          (int a, const char *old, int b, const char *new, unsigned flags), a, b,
          (a, old, b, new, flags))
TWO_PATHS(link, "link", (const char *old, const char *new), AT_FDCWD, AT_FDCWD, (old, new))
TWO_PATHS(linkat, "link", (int a, const char *old, int b, const char *new, int flags), a, b,
          (a, old, b, new, flags))

/* --- Descriptors ------------------------------------------------------------------- */

#define ON_FILE(name, label, parameters, arguments, size) \
    int name parameters \
    { \
        const char *path = path_of(fd); \
        REAL(name); \
        if (!path) return real arguments; \
        if (before(label, path)) return -1; \
        int result = real arguments; \
        after(label, 0, size, result, path, NULL); \
        return result; \
    }
ON_FILE(fsync, "fsync", (int fd), (fd), 0)
ON_FILE(fdatasync, "fsync", (int fd), (fd), 0)
ON_FILE(ftruncate, "truncate", (int fd, off_t size), (fd, size), size)
ON_FILE(ftruncate64, "truncate", (int fd, off64_t size), (fd, size), size)
ON_FILE(fchmod, "chmod", (int fd, mode_t mode), (fd, mode), mode)
ON_FILE(flock, "lock", (int fd, int operation), (fd, operation), operation)

int close(int fd)
{
    const char *path = path_of(fd);
    char kept[PATH_MAX];
    REAL(close);
    if (!path) return real(fd);
    snprintf(kept, sizeof kept, "%s", path);
    free(paths[fd]);
    paths[fd] = NULL;
    /* Linux gives the descriptor back even where close fails. */
    if (before("close", kept)) {
        int failure = errno;
        real(fd);
        errno = failure;
        return -1;
    }
    int result = real(fd);
    after("close", 0, 0, result, kept, NULL);
    return result;
}

#define FCNTL(name) \
    int name(int fd, int command, ...) \
    { \
        va_list list; \
        REAL(name); \
        va_start(list, command); \
        void *argument = va_arg(list, void *); \
        va_end(list); \
        const char *path = path_of(fd); \
        int locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK; \
        if (!path || !locks) return real(fd, command, argument); \
        if (before("lock", path)) return -1; \
        int result = real(fd, command, argument); \
        after("lock", command, 0, result, path, NULL); \
        return result; \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

#define MAP(name, offset_type) \
    void *name(void *near, size_t size, int rights, int flags, int fd, offset_type offset) \
    { \
        const char *path = path_of(fd); \
        REAL(name); \
        if (!path) return real(near, size, rights, flags, fd, offset); \
        if (before("map", path)) return MAP_FAILED; \
        void *result = real(near, size, rights, flags, fd, offset); \
        after("map", offset, size, result == MAP_FAILED ? -1 : 0, path, NULL); \
        return result; \
    }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

#define READ(name, parameters, arguments) \
    ssize_t name parameters \
    { \
        const char *path = path_of(fd); \
        REAL(name); \
        if (!path) return real arguments; \
        if (before("read", path)) return -1; \
        ssize_t result = real arguments; \
        after("read", 0, 0, result, path, NULL); \
        return result; \
    }
READ(read, (int fd, void *bytes, size_t count), (fd, bytes, count))
READ(pread, (int fd, void *bytes, size_t count, off_t offset), (fd, bytes, count, offset))
READ(pread64, (int fd, void *bytes, size_t count, off64_t offset), (fd, bytes, count, offset))

ssize_t write(int fd, const void *bytes, size_t count)
{
    const char *path = path_of(fd);
    if (!path) {
        ssize_t done = write_plainly(fd, bytes, count);
        int failure = errno;
        if (fd == 1 && with_data) note("answer", 0, done > 0 ? done : 0, done, "-", bytes);
        errno = failure;
        return done;
    }
    if (before("write", path)) return -1;
    struct stat about;
    int appends = fcntl(fd, F_GETFL) & O_APPEND;
    off_t offset = appends && !fstat(fd, &about) ? about.st_size : lseek(fd, 0, SEEK_CUR);
    ssize_t result = write_plainly(fd, bytes, portion(count));
    after_write("write", offset, result, path, bytes);
    return result;
}

#define PWRITE(name, offset_type) \
    ssize_t name(int fd, const void *bytes, size_t count, offset_type offset) \
    { \
        const char *path = path_of(fd); \
        REAL(name); \
        if (!path) return real(fd, bytes, count, offset); \
        if (before("pwrite", path)) return -1; \
        ssize_t result = real(fd, bytes, portion(count), offset); \
        after_write("pwrite", offset, result, path, bytes); \
        return result; \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

/* Several pieces go one by one: their bytes are wanted, and so is each point between. */
ssize_t writev(int fd, const struct iovec *pieces, int count)
{
    REAL(writev);
    if (!path_of(fd)) return real(fd, pieces, count);
    ssize_t all = 0;
    for (int i = 0; i < count; i++) {
        ssize_t done = write(fd, pieces[i].iov_base, pieces[i].iov_len);
        if (done < 0) return all ? all : -1;
        all += done;
        if ((size_t)done < pieces[i].iov_len) break;
    }
    return all;
}
