package rdma_test

import "time"

// testSeed is another at every run; failures name it.
var testSeed = time.Now().UnixNano()%1_000_000 + 1
