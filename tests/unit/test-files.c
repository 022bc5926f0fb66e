/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "intent/files.h"
#include "unit.h"
#include "util.h"

/* Each test works in a new folder. */
#define TEMPLATE "/tmp/bulkhead-files-XXXXXX"  /* For mkdtemp(). */
static char folder[] = TEMPLATE;

static void
enter(void)
{
    ovs_strlcpy(folder, TEMPLATE, sizeof folder);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert(!chdir(folder));
}

static void
leave(void)
{
    char *command = xasprintf("rm -rf %s", folder);

    ck_assert(!chdir("/"));
    ck_assert(!system(command));
    free(command);
}

static void
put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    ck_assert_msg(file != NULL, "%s: %s", name, strerror(errno));
    fputs(text, file);
    fclose(file);
}

/* Makes the sparse file 'name' of so many MiB. */
static void
put_large(const char *name, int mib)
{
    put(name, "");
    ck_assert(!truncate(name, (off_t) mib * 1024 * 1024));
}

/* Reads 'a', and 'b' if it is not NULL. */
static bool
read_names(struct unit *u, intent_files *files, const char *a, const char *b)
{
    const char *const names[] = { a, b };

    unit_init(u);
    memset(files, 0, sizeof *files);
    return intent_read(names, b ? 2 : 1, u->arena, &u->diags, files);
}

/* Reading 'name' fails, and what is said about that holds 'needle'. */
static void
refuses(const char *name, const char *needle)
{
    intent_files files;
    struct unit u;

    ck_assert_msg(!read_names(&u, &files, name, NULL), "%s was read", name);
    unit_complains(&u, needle);
    unit_destroy(&u);
}

static void
reads(const char *a, const char *b, const char *expected)
{
    static const char *const roles[] = {
        [FILE_OPERATOR] = "", [FILE_TENANT] = " of ",
        [FILE_BINDINGS] = " binds",
    };
    const char *got = "";
    intent_files files;
    struct unit u;

    ck_assert_msg(read_names(&u, &files, a, b), "%s", unit_diags(&u));
    for (size_t i = 0; i < files.n; i++) {
        const struct intent_file *file = &files.v[i];

        got = arena_printf(u.arena, "%s%s%s%s\n", got, file->source->name,
                           roles[file->role],
                           file->tenant ? file->tenant : "");
    }
    ck_assert_str_eq(got, expected);
    unit_destroy(&u);
}

/* An intent in the folder "in". */
static void
put_intent(void)
{
    ck_assert(!mkdir("in", 0777) && !mkdir("in/tenants", 0777)
              && !mkdir("in/bindings", 0777));
    put("in/b.json", "");
    put("in/a.json", "");
    put("in/tenants/red.json", "");
    put("in/bindings/n1.json", "");
    put("in/.a.json", "");
    put("in/a.json~", "");
    put("in/tenants/blue.json.bak", "");
    ck_assert(!mkdir("in/.git", 0777));
}

START_TEST(test_folder)
{
    static const char expected[] = "in/a.json\nin/b.json\n"
                                   "in/bindings/n1.json binds\n"
                                   "in/tenants/red.json of red\n";

    put_intent();
    reads("in", NULL, expected);
    reads("in/", NULL, expected);
    reads("in/tenants", "in/a.json",
          "in/a.json\nin/tenants/red.json of red\n");
    reads("in/a.json", "in/tenants/",
          "in/a.json\nin/tenants/red.json of red\n");
    ck_assert(!chdir("in"));
    reads(".", NULL, "./a.json\n./b.json\n./bindings/n1.json binds\n"
          "./tenants/red.json of red\n");
}
END_TEST

/* Nobody gets the operator's authority by the way a file is named. */
START_TEST(test_authority)
{
    put_intent();
    reads("in/tenants/red.json", NULL, "in/tenants/red.json of red\n");
    reads("in/bindings/n1.json", NULL, "in/bindings/n1.json binds\n");
    reads("in/bindings", NULL, "in/bindings/n1.json binds\n");
    ck_assert(!symlink("in/tenants", "link"));
    reads("link", NULL, "link/red.json of red\n");
    reads("link/red.json", NULL, "link/red.json of red\n");
    ck_assert(!symlink("tenants/red.json", "in/red.json"));
    reads("in/red.json", NULL, "in/red.json of red\n");
    ck_assert(!unlink("in/red.json"));
    ck_assert(!rename("in/tenants", "in/real"));
    ck_assert(!symlink("real", "in/tenants"));
    reads("in/tenants", NULL, "in/tenants/red.json of red\n");
    reads("in/tenants/red.json", NULL, "in/tenants/red.json of red\n");
    ck_assert(!unlink("in/tenants") && !rename("in/real", "in/tenants"));
    ck_assert(!chdir("in/tenants"));
    reads("red.json", NULL, "red.json of red\n");
    reads(".", NULL, "./red.json of red\n");
    reads("../tenants", NULL, "../tenants/red.json of red\n");
    reads("../../in/./tenants/.", NULL,
          "../../in/./tenants/./red.json of red\n");
}
END_TEST

static void
make_socket(const char *name)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    ovs_strlcpy(un.sun_path, name, sizeof un.sun_path);
    ck_assert(fd >= 0 && !bind(fd, (struct sockaddr *) &un, sizeof un));
    close(fd);
}

/* None of them may hang, whether it is named or found in a folder. */
START_TEST(test_no_files)
{
    ck_assert(!mkdir("fifo", 0777) && !mkfifo("fifo/x.json", 0666));
    ck_assert(!mkdir("device", 0777)
              && !symlink("/dev/zero", "device/x.json"));
    ck_assert(!mkdir("socket", 0777));
    make_socket("socket/x.json");
    ck_assert(!mkdir("loop", 0777) && !symlink("x.json", "loop/x.json"));
    ck_assert(!mkdir("dangling", 0777)
              && !symlink("nowhere", "dangling/x.json"));
    ck_assert(!mkdir("inner", 0777) && !mkdir("inner/x.json", 0777));

    refuses("fifo", "fifo/x.json: Not a regular file");
    refuses("fifo/x.json", "Not a regular file");
    refuses("device", "Not a regular file");
    refuses("socket", "socket/x.json: No such device or address");
    refuses("loop", "Too many levels of symbolic links");
    refuses("dangling", "dangling/x.json: No such file or directory");
    refuses("inner", "no folder of this name belongs here");
    refuses("nowhere", "nowhere: No such file or directory");
    refuses("", "cannot read : No such file or directory");
    ck_assert(!symlink("round", "round"));
    refuses("round", "round: Too many levels of symbolic links");
}
END_TEST

START_TEST(test_folders_that_are_none)
{
    ck_assert(!mkdir("empty", 0777));
    refuses("empty", "no file of an intent is in it");
    put("empty/README", "");
    refuses("empty", "no file of an intent is in it");
    ck_assert(!mkdir("empty/tenants", 0777));
    refuses("empty", "no file of an intent is in it");

    put("empty/a.json", "");
    ck_assert(!symlink("..", "empty/tenants/up"));
    refuses("empty", "tenants/up: no folder of this name belongs here");
    ck_assert(!unlink("empty/tenants/up") && !mkdir("empty/tenant", 0777));
    refuses("empty", "did you mean 'tenants'?");
}
END_TEST

START_TEST(test_without_rights)
{
    bool root = !geteuid();

    put_intent();
    ck_assert(!chmod(".", 0777) && !chmod("in/tenants", 0));
    if (root) {                 /* Whom no mode keeps out. */
        ck_assert(!setegid(65534) && !seteuid(65534));
    }
    refuses("in", "in/tenants: Permission denied");
    if (root) {
        ck_assert(!seteuid(0) && !setegid(0));
    }
    ck_assert(!chmod("in/tenants", 0777));
    reads("in/tenants", NULL, "in/tenants/red.json of red\n");
}
END_TEST

START_TEST(test_size)
{
    ck_assert(!mkdir("in", 0777));
    put_large("in/a.json", 65);
    refuses("in", "in/a.json: Larger than 64 MiB");
    put_large("in/a.json", 33);
    reads("in", NULL, "in/a.json\n");
    put_large("in/b.json", 32);
    refuses("in", "in/b.json: the intent is larger than 64 MiB");
}
END_TEST

START_TEST(test_twice)
{
    intent_files files;
    struct unit u;

    put_intent();
    ck_assert(!read_names(&u, &files, "in/a.json", "in"));
    unit_complains(&u, "in/a.json: it is read already");
    unit_destroy(&u);
}
END_TEST

Suite *
files_suite(void)
{
    Suite *suite = suite_create("files");
    TCase *tc = unit_case(suite, "read");

    tcase_add_checked_fixture(tc, enter, leave);
    tcase_add_test(tc, test_folder);
    tcase_add_test(tc, test_authority);
    tcase_add_test(tc, test_twice);
    tc = unit_case(suite, "refused");
    tcase_add_checked_fixture(tc, enter, leave);
    tcase_add_test(tc, test_no_files);
    tcase_add_test(tc, test_folders_that_are_none);
    tcase_add_test(tc, test_without_rights);
    tcase_add_test(tc, test_size);
    return suite;
}
