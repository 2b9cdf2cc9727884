#include "ggml/src/ggml-impl.h"
