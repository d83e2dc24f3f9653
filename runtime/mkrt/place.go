package mkrt

// place is what the launcher told of the host that this rank runs on; the zero value where nobody did.
type place struct {
	launcher     *launcher
	local        int  // number among the ranks of the host
	localUnknown bool // set by hand, without LOCAL_RANK
	onHost       int  // ranks of this world on the host; 0: not told
}

// device is the GPU of a rank, as far as it is known without a kernel.
func (p place) device(rank int) int {
	if p.localUnknown {
		return rank
	}
	return p.local
}

// settle makes what the launcher told agree with the nodes of a kernel: ranks of one node must run on one host. Hosts may
// hold several nodes.
//
// A host's ranks have local numbers that ascend with their ranks. So if all ranks pass this check, the ranks of each
// node are consecutive on one host: each rank but the node's first is preceded there by the rank before it.
func (cfg *Config) settle(k Kernel) error {
	perNode := cfg.World / k.Nodes
	p := cfg.place
	if p.launcher == nil {
		return nil
	}
	if p.localUnknown {
		if cfg.Kind == CUDA {
			cfg.Device = cfg.Rank % perNode
		}
		return nil
	}
	if p.onHost == 0 || p.onHost%perNode == 0 && p.local%perNode == cfg.Rank%perNode {
		return nil
	}
	first := cfg.Rank - cfg.Rank%perNode
	list := make([]int, perNode)
	for i := range list {
		list[i] = first + i
	}
	return errorf(Mismatch, "kernel %s runs on %d node(s) of %d rank(s), so that its %s must be on one host in this order; rank %d is number %d of %d on its host, as %s tells: start them with %s",
		k.Name, k.Nodes, perNode, rankList(list), cfg.Rank, p.local, p.onHost, p.launcher.name, p.launcher.start(cfg.World, k.Nodes, perNode))
}
