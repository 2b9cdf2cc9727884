// SPDX-License-Identifier: MIT
// A device of tests/fake as a library that is loaded, as anybody could write one: linked with the public
// functions only. It executes lazily and cannot be touched by the program.
#define GGML_BACKEND_DL
#include "fake/fake.h"

static struct fake_world * world;

static ggml_backend_reg_t one_device(void) {
    if (!world) world = fake_world_new(1);
    if (world && !fake_world_reg(world)->iface.get_device_count(fake_world_reg(world)))
        fake_device_new(world, fake_options_default());
    return world ? fake_world_reg(world) : NULL;
}

static int score(void) {
    return 1;
}

GGML_BACKEND_DL_IMPL(one_device)
GGML_BACKEND_DL_SCORE_IMPL(score)

// For the test: faults of order that the world has found so far.
__attribute__((visibility("default"))) int fake_module_faults(void);
int fake_module_faults(void) {
    return world ? fake_world_faults(world) : 0;
}

static __attribute__((destructor)) void end(void) {
    if (world) fake_world_free(world);
    world = NULL;
}
