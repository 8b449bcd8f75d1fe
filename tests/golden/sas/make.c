#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "readstat.h"

static ssize_t put(const void *data, size_t len, void *ctx) { return write(*(int *)ctx, data, len); }
static int made(const char *path) { return open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644); }
#define OK(x) do { readstat_error_t e = (x); if (e) { fprintf(stderr, "%s: %s\n", #x, readstat_error_message(e)); return 1; } } while (0)

static void catalogue_sets(readstat_writer_t *w) {
    readstat_label_set_t *s = readstat_add_label_set(w, READSTAT_TYPE_STRING, "$SEX");
    readstat_label_string_value(s, "f", "female");
    readstat_label_string_value(s, "m", "male");
    s = readstat_add_label_set(w, READSTAT_TYPE_DOUBLE, "REGION");
    readstat_label_double_value(s, 1, "north");
    readstat_label_double_value(s, 2, "south");
    readstat_label_double_value(s, 3, "\xC3\xAEle");
    readstat_label_double_value(s, -4.5, "elsewhere");
    s = readstat_add_label_set(w, READSTAT_TYPE_DOUBLE, "ILLNESS_AT_VISIT");
    readstat_label_double_value(s, 1, "flu");
    readstat_label_double_value(s, 2, "measles");
    readstat_label_double_value(s, 3, "asthma");
    readstat_label_double_value(s, 98, "refused");
    s = readstat_add_label_set(w, READSTAT_TYPE_DOUBLE, "AGEGROUP");
    readstat_label_double_value(s, 20, "twenties");
    readstat_label_double_value(s, 30, "thirties");
    readstat_label_double_value(s, 40, "older");
}

int main(void) {
    int fd;
    readstat_writer_t *w;
    for (int wide = 0; wide < 2; wide++) {
        fd = made(wide ? "formats_64.sas7bcat" : "formats_32.sas7bcat");
        w = readstat_writer_init();
        readstat_set_data_writer(w, &put);
        readstat_writer_set_file_timestamp(w, 1893456000);
        readstat_writer_set_file_format_is_64bit(w, wide);
        catalogue_sets(w);
        OK(readstat_begin_writing_sas7bcat(w, &fd));
        OK(readstat_end_writing(w));
        readstat_writer_free(w);
        close(fd);
    }

    for (int wide = 0; wide < 2; wide++) {
    fd = made(wide ? "visits_64.sas7bdat" : "visits_32.sas7bdat");
    w = readstat_writer_init();
    readstat_set_data_writer(w, &put);
    readstat_writer_set_file_timestamp(w, 1893456000);
    readstat_writer_set_file_format_is_64bit(w, wide);
    readstat_variable_t *age = readstat_add_variable(w, "age", READSTAT_TYPE_DOUBLE, 0);
    readstat_variable_t *sex = readstat_add_variable(w, "sex", READSTAT_TYPE_STRING, 1);
    readstat_variable_t *region = readstat_add_variable(w, "region", READSTAT_TYPE_DOUBLE, 0);
    readstat_variable_t *illness = readstat_add_variable(w, "illness", READSTAT_TYPE_DOUBLE, 0);
    readstat_variable_t *visited = readstat_add_variable(w, "visited", READSTAT_TYPE_DOUBLE, 0);
    readstat_variable_t *ward = readstat_add_variable(w, "ward", READSTAT_TYPE_DOUBLE, 0);
    readstat_variable_set_format(age, "AGEGROUP");
    readstat_variable_set_format(sex, "$SEX");
    readstat_variable_set_format(region, "REGION");
    readstat_variable_set_format(illness, "ILLNESS_AT_VISIT");
    readstat_variable_set_format(visited, "DATE");
    readstat_variable_set_format(ward, "WARDS");
    OK(readstat_begin_writing_sas7bdat(w, &fd, 240));
    const double regions[] = {1, 2, 3, -4.5};
    for (int i = 0; i < 240; i++) {
        OK(readstat_begin_row(w));
        OK(readstat_insert_double_value(w, age, 20 + i % 40));
        OK(readstat_insert_string_value(w, sex, i % 2 ? "m" : "f"));
        OK(readstat_insert_double_value(w, region, regions[i % 4]));
        if (i % 24 == 5) OK(readstat_insert_tagged_missing_value(w, illness, 'R')); 
        else if (i % 24 == 17) OK(readstat_insert_missing_value(w, illness));
        else OK(readstat_insert_double_value(w, illness, 1 + i / 2 % 3));
        OK(readstat_insert_double_value(w, visited, 21915 + i % 90));
        OK(readstat_insert_double_value(w, ward, 1 + i % 5));
        OK(readstat_end_row(w));
    }
    OK(readstat_end_writing(w));
    readstat_writer_free(w);
    close(fd);
    }
    return 0;
}
