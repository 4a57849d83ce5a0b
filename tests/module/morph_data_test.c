/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "module/morph_data.h"
#include "module/sidecar.h"

#include <errno.h>

#include "base/container.h"
#include "base/file.h"
#include "base/text.h"
#include "tests/attack.h"
#include "tests/module/elf_maker.h"

static const uint8_t note[] = { 4,   0,	  0,   0, 8,	0,    0, 0, 3, 0, 0, 0,
				'G', 'N', 'U', 0, 0xab, 0xcd, 1, 2, 3, 4, 5, 6 };

static struct morph_data *small_data(void)
{
	static const uint8_t crt[] = "crt bytes";
	struct morph_data *data = calloc(1, sizeof(*data));

	data->build_id = (struct build_id){ .size = 8, .bytes = { 0xab, 0xcd, 1, 2, 3, 4, 5, 6 } };
	data->llvm_version = strdup("22.1.8");
	data->triple = strdup("x86_64-pc-linux-gnu");
	data->selftest = strdup("./prog --version");
	data->benchmark = strdup("./prog --work");
	data->lto = MORPH_LTO_THIN;
	data->opt_level = 2;
	data->pic = true;
	data->options = calloc(2, sizeof(char *));
	data->options[data->n_options++] = strdup("-x86-asm-syntax=intel");
	data->map = calloc(1, sizeof(*data->map));
	data->map->build_id = data->build_id;
	data->plan = calloc(1, sizeof(*data->plan));
	link_plan_add(data->plan, LINK_ARGUMENT, "-pie", NULL, 0);
	link_plan_add(data->plan, LINK_OBJECT, "crt1.o", crt, sizeof(crt));
	link_plan_add(data->plan, LINK_IR, NULL, NULL, 0);
	link_plan_add(data->plan, LINK_OBJECT, "crt1 again", crt, sizeof(crt));
	link_plan_add(data->plan, LINK_SHARED, "libc.so.6", NULL, 0);
	data->modules = calloc(2, sizeof(*data->modules));
	data->modules[0] = (struct morph_module){ strdup("a.o"), (const uint8_t *)"BC-one", 6 };
	data->modules[1] = (struct morph_module){ strdup("b.o"), (const uint8_t *)"BC-three", 8 };
	data->n_modules = 2;
	return data;
}

TEST(what_is_encoded_comes_back)
{
	_clean_(morph_data_freep) struct morph_data *data = small_data(), *again = NULL;
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	struct fault fault;

	CHECK_INT(morph_data_encode(data, &bytes), 0);
	CHECK_INT(morph_data_decode(bytes.data, bytes.size, &again, &fault), 0);
	CHECK(build_id_is_equal(&again->build_id, &data->build_id));
	CHECK_STR(again->llvm_version, "22.1.8");
	CHECK_STR(again->triple, "x86_64-pc-linux-gnu");
	CHECK_STR(again->selftest, "./prog --version");
	CHECK_STR(again->benchmark, "./prog --work");
	CHECK(!again->cpu && again->pic);
	CHECK_INT(again->lto, MORPH_LTO_THIN);
	CHECK_INT(again->opt_level, 2);
	CHECK_INT(again->n_options, 1);
	CHECK_STR(again->options[0], "-x86-asm-syntax=intel");
	CHECK_INT(again->n_modules, 2);
	CHECK_STR(again->modules[1].name, "b.o");
	CHECK_INT(again->modules[1].size, 8);
	CHECK(!again->modules[1].bitcode);
	CHECK_INT(morph_data_unpack(again, &fault), 0);
	CHECK(memcmp(again->modules[1].bitcode, "BC-three", 8) == 0);
	CHECK_INT(again->plan->n_inputs, 5);
	CHECK_INT(again->plan->inputs[1].kind, LINK_OBJECT);
	CHECK_STR(again->plan->inputs[3].text, "crt1 again");
	CHECK_INT(again->plan->inputs[3].size, 10);
	CHECK_STR((const char *)again->plan->inputs[3].bytes, "crt bytes");
}

TEST(damage_anywhere_is_noticed)
{
	_clean_(morph_data_freep) struct morph_data *data = small_data();
	_clean_(buffer_donep) struct buffer bytes = { 0 };

	CHECK_INT(morph_data_encode(data, &bytes), 0);
	for (size_t i = 0; i < bytes.size; i++) {
		struct morph_data *again = NULL;
		struct fault fault = { "" };

		bytes.data[i] ^= 0x10;
		CHECK(morph_data_decode(bytes.data, bytes.size, &again, &fault) < 0);
		CHECK(fault.text[0]);
		bytes.data[i] ^= 0x10;
		CHECK(morph_data_decode(bytes.data, i, &again, &fault) < 0);
	}
}

static struct image *image_with(const struct buffer *section)
{
	struct buffer notes = { .data = (uint8_t *)note, .size = sizeof(note) };
	struct image *image = NULL;
	struct elf_maker elf;
	int fd;

	elf_maker_begin(&elf, 16);
	elf_maker_section(&elf, ".note.gnu.build-id", SHT_NOTE, &notes);
	if (section)
		elf_maker_section(&elf, MORPH_SECTION, SHT_PROGBITS, section);
	fd = elf_maker_finish(&elf);
	image_open_fd(fd, "prog", &image, NULL);
	close(fd);
	return image;
}

TEST(the_section_of_a_file_is_loaded)
{
	_clean_(morph_data_freep) struct morph_data *data = small_data(), *found = NULL;
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	_clean_(image_freep) struct image *image = NULL;
	struct fault fault;

	CHECK_INT(morph_data_encode(data, &bytes), 0);
	image = image_with(&bytes);
	CHECK_INT(morph_data_load(image, "/nonexistent", &found, &fault), 0);
	CHECK_INT(found->n_modules, 2);
}

TEST(a_section_of_another_build_is_refused)
{
	_clean_(morph_data_freep) struct morph_data *data = small_data(), *found = NULL;
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	_clean_(image_freep) struct image *image = NULL;
	struct fault fault;

	data->build_id.bytes[3] = data->map->build_id.bytes[3] = 9;
	CHECK_INT(morph_data_encode(data, &bytes), 0);
	image = image_with(&bytes);
	CHECK_INT(morph_data_load(image, "/nonexistent", &found, &fault), -EBADMSG);
	CHECK(strstr(fault.text, "another build"));
}

TEST(a_file_without_data_says_so)
{
	_clean_(image_freep) struct image *image = image_with(NULL);
	struct morph_data *found = NULL;
	struct fault fault;

	CHECK_INT(morph_data_load(image, "/nonexistent", &found, &fault), -ENODATA);
	CHECK_STR(fault.text, "prog: carries no Morph data; build it with morph-cc");
}

static void hash_of(const struct morph_data *data, uint8_t ret[SHA256_BYTES])
{
	_clean_(sha256_freep) struct sha256 *hash = sha256_new();

	CHECK_INT(morph_data_hash(data, hash), 0);
	CHECK_INT(sha256_end(hash, ret), 0);
}

/* Whoever can write the sidecar directory can write any build ID into a file there. */
TEST(a_sidecar_is_found_by_build_id_and_taken_by_its_hash)
{
	_clean_(morph_data_freep) struct morph_data *data = small_data(), *found = NULL, *none = NULL;
	_clean_(image_freep) struct image *image = image_with(NULL), *split = NULL;
	_clean_(buffer_donep) struct buffer bytes = { 0 }, other = { 0 }, file = { 0 };
	char dir[] = "/tmp/morph-test-XXXXXX", path[256], *slash;
	struct fault fault, unnamed, forged;
	int r, r_unnamed, r_forged;

	CHECK(mkdtemp(dir));
	CHECK_INT(sidecar_path(image_build_id(image), dir, path, sizeof(path)), 0);
	CHECK_STR(path + strlen(dir), "/ab/cd010203040506.morph");
	slash = strrchr(path, '/');
	*slash = '\0';
	CHECK_INT(file_mkdirs(path, 0755, &fault), 0);
	*slash = '/';
	CHECK_INT(morph_data_encode(data, &bytes), 0);
	data->opt_level ^= 1;
	CHECK_INT(morph_data_encode(data, &other), 0);
	CHECK_INT(sidecar_split(image, bytes.data, bytes.size, &file, &fault), 0);
	CHECK_INT(image_open_bytes(file.data, file.size, "split", &split, &fault), 0);
	CHECK_INT(file_write(path, bytes.data, bytes.size, 0644, &fault), 0);
	r_unnamed = morph_data_load(image, dir, &none, &unnamed);
	r = morph_data_load(split, dir, &found, &fault);
	CHECK_INT(file_write(path, other.data, other.size, 0644, &fault), 0);
	r_forged = morph_data_load(split, dir, &none, &forged);
	CHECK_INT(file_remove_tree(dir, &fault), 0);
	CHECK_INT(r, 0);
	CHECK_STR(found->triple, "x86_64-pc-linux-gnu");
	ATTACK("sidecar-for-a-program-without-one",
	       r_unnamed == -EBADMSG && strstr(unnamed.text, "names no sidecar"));
	ATTACK("sidecar-forged",
	       r_forged == -EBADMSG && strstr(forged.text, "is not the sidecar that split was split from"));
}

TEST(what_morph_data_says_is_in_its_hash)
{
	_clean_(morph_data_freep) struct morph_data *data = small_data();
	uint8_t before[SHA256_BYTES], after[SHA256_BYTES];

	hash_of(data, before);
	hash_of(data, after);
	CHECK(memcmp(before, after, sizeof(before)) == 0);
	data->build_id.bytes[0] ^= 1;
	hash_of(data, after);
	CHECK(memcmp(before, after, sizeof(before)) == 0); /* the ID is made of it */
	data->selftest[2] ^= 1;
	hash_of(data, after);
	data->selftest[2] ^= 1;
	ATTACK("same-id-other-self-test", memcmp(before, after, sizeof(before)) != 0);
	data->benchmark[2] ^= 1;
	hash_of(data, after);
	data->benchmark[2] ^= 1;
	ATTACK("same-id-other-benchmark", memcmp(before, after, sizeof(before)) != 0);
	data->opt_level ^= 1;
	hash_of(data, after);
	ATTACK("same-id-other-options", memcmp(before, after, sizeof(before)) != 0);
}

/* ---- hostile data ---- */

#define HOSTILE "x\x1b[2J\n\xe2\x80\xae\xff\xc2\x9b"

static void hostile(char **text)
{
	free(*text);
	*text = strdup(HOSTILE);
}

/* Nothing that a terminal obeys, but the line ends of the dump itself; and no name has made a line of its own. */
static bool is_harmless(const char *text, size_t size, unsigned lines)
{
	for (size_t n; size; text += n, size -= n) {
		int32_t code = text_next(text, size, &n);

		if (code != '\n' && !text_is_plain(code))
			return false;
		lines -= code == '\n';
	}
	return lines == 0;
}

static bool dump_is_harmless(const struct morph_data *data, unsigned lines,
			     void (*dump)(const struct morph_data *data, FILE *out))
{
	_clean_(freep) char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool ret;

	dump(data, out);
	fclose(out);
	ret = is_harmless(text, size, lines);
	if (!ret)
		fwrite(text, 1, size, stderr);
	return ret;
}

static unsigned lines_of(const struct morph_data *data,
			 void (*dump)(const struct morph_data *data, FILE *out))
{
	_clean_(freep) char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	unsigned lines = 0;

	dump(data, out);
	fclose(out);
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	return lines;
}

TEST(dumps_of_hostile_names_are_text)
{
	_clean_(morph_data_freep) struct morph_data *data = small_data();
	unsigned lines, lines_json;

	free(data->selftest);
	data->selftest = strdup("true");
	lines = lines_of(data, morph_data_dump);
	lines_json = lines_of(data, morph_data_dump_json);
	hostile(&data->llvm_version);
	hostile(&data->triple);
	hostile(&data->selftest);
	hostile(&data->benchmark);
	for (size_t i = 0; i < data->n_options; i++)
		hostile(&data->options[i]);
	for (size_t i = 0; i < data->n_modules; i++)
		hostile(&data->modules[i].name);
	for (size_t i = 0; i < data->plan->n_inputs; i++)
		hostile((char **)&data->plan->inputs[i].text);
	for (size_t i = 0; i < data->map->n_functions; i++)
		data->map->functions[i].name = (char *)HOSTILE;
	ATTACK("gate-escapes-in-dumps-of-morph-data", dump_is_harmless(data, lines, morph_data_dump));
	ATTACK("gate-escapes-in-json-of-morph-data",
	       dump_is_harmless(data, lines_json, morph_data_dump_json));
}

TEST(a_peek_sees_what_loading_sees)
{
	_clean_(morph_data_freep) struct morph_data *data = small_data();
	_clean_(buffer_donep) struct buffer bytes = { 0 };
	_clean_(image_freep) struct image *image = NULL, *none = image_with(NULL);
	struct morph_peek peek;
	struct fault fault;

	CHECK_INT(morph_data_encode(data, &bytes), 0);
	image = image_with(&bytes);
	CHECK_INT(morph_data_peek(image, "/nonexistent", &peek, &fault), 0);
	CHECK(build_id_is_equal(&peek.build_id, &data->build_id));
	CHECK_INT(peek.origin.size, data->origin.size);
	CHECK_STR(peek.llvm_version, data->llvm_version);
	CHECK_INT(morph_data_peek(none, "/nonexistent", &peek, &fault), -ENODATA);
	bytes.data[bytes.size - 1] ^= 1;
	image_freep(&image);
	image = image_with(&bytes);
	CHECK_INT(morph_data_peek(image, "/nonexistent", &peek, &fault), -EBADMSG);
}

/* 190 MB of zeros deflate to 190 KB: whoever only asks whether there is anything must not pay for them. */
TEST(a_peek_costs_what_it_reads)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 }, head = { 0 };
	_clean_(freep) uint8_t *payload = calloc(1, 190u << 20);
	struct fault fault;

	CHECK(payload);
	CHECK_INT(container_pack(CONTAINER_MORPH, MORPH_DATA_VERSION, payload, 190u << 20, 9, &bytes), 0);
	CHECK(bytes.size < 200000);
	CHECK_INT(container_unpack_head(bytes.data, bytes.size, CONTAINER_MORPH, MORPH_DATA_VERSION, 4096,
					&head, &fault),
		  0);
	ATTACK("gate-peek-into-a-bomb", head.size == 4096 && head.capacity == 4096);
}

TEST_MAIN()
