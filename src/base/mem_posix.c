// SPDX-License-Identifier: MIT
// What the system says of memory.
#include <unistd.h>

#include "base/bits.h"
#include "base/mem.h"

size_t tn_mem_physical(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGE_SIZE);
    size_t size;
    if (pages <= 0 || page_size <= 0) return 0;
    return tn_size_mul((size_t) pages, (size_t) page_size, &size) ? size : 0;
}
