package plan

const (
	commWarps   = 6 // of an SM of intra_comm
	besideWarps = 1 // beside compute
	commDepth   = 2
	maxLanes    = 4 // kMaxLanes of runtime/include/mk/net.h
)

// roles shares out the SMs, one CTA each: all of them are resident at once, so that no role waits for one that cannot run.
// intra_comm takes none by default: its lanes run beside the producer of every compute CTA, whose warpgroup has warps to
// spare. That leaves all SMs to multiply and spreads the copies over all of them (docs/performance.md). inter_send takes
// none either: one lane, beside the producer of the first compute CTA, is enough for one network card; each SM given to it
// is a lane with a FIFO and a proxy thread of its own.
func (b *builder) roles() {
	s, r := b.spec.Roles, &b.plan.Roles
	r.SMs, r.CommWarps, r.CommDepth = sms, commWarps, commDepth
	world, nodes := b.plan.World, b.plan.Nodes
	if world == 0 {
		return
	}
	push, send := 0, 0 // least SMs for each
	if world > 1 && s.IntraComm > 0 {
		push = 1
	}
	if nodes > 1 && s.InterSend > 0 {
		send = 1
	}
	r.Reserve = s.Reserve
	if most := sms - 1 - push - send; r.Reserve > most {
		b.fail("roles.reserve", "%d SMs for other kernels leave too few of %d; nearest legal value is %d", r.Reserve, sms, most)
		r.Reserve = most
	}
	ours := sms - r.Reserve
	switch v := s.IntraComm; {
	case world == 1 && v > 0:
		b.fail("roles.intra_comm", "%d SMs have no peer to send to in a world of 1; nearest legal value is 0", v)
	case world == 1:
	case v == 0:
		r.Beside, r.CommWarps = true, besideWarps
	default:
		r.IntraComm = b.share("roles.intra_comm", v, ours-1-send)
	}
	switch v := s.InterSend; {
	case nodes == 1 && v > 0:
		b.fail("roles.inter_send", "%d SMs have no other node to send to; nearest legal value is 0", v)
	case nodes == 1:
	case v == 0:
		r.Lanes = 1
	default:
		r.InterSend = b.share("roles.inter_send", v, min(maxLanes, ours-1-push))
		r.Lanes = r.InterSend
	}
	if v := s.InterReduce; v > 0 {
		b.fail("roles.inter_reduce", "%d SMs have nothing to add up in an AllGather; nearest legal value is 0", v)
	}

	rest := ours - r.IntraComm - r.InterSend
	if rest < 1 {
		key, v := "roles.intra_comm", r.IntraComm
		if r.InterSend > v {
			key, v = "roles.inter_send", r.InterSend
		}
		b.fail(key, "%d SMs leave none of %d to compute; nearest legal value is %d", v, ours, v+rest-1)
		return
	}
	r.Compute = rest
	if v := s.Compute; v > rest {
		b.fail("roles.compute", "%d SMs and %d of the other roles are more than %d; nearest legal value is %d", v, ours-rest, ours, rest)
	} else if v > 0 {
		r.Compute = v
	}
}

// share is the SMs of a role that needs at least one and must leave at least one to each other role.
func (b *builder) share(key string, value, most int) int {
	switch {
	case value < 1:
		b.fail(key, "%d SMs are too few, of 1 to %d; nearest legal value is 1", value, most)
		return 1
	case value > most:
		b.fail(key, "%d SMs are too many, of 1 to %d; nearest legal value is %d", value, most, most)
		return most
	}
	return value
}
