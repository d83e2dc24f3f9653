#include "run.h"

int main(int argc, char** argv) { return mk::run::run(mk::run::kernel, argc, argv); }
