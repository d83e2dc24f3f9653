package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
)

// abi is the first 8 bytes, big-endian, of the SHA-256 of the plan's JSON (its ABI zero) and of the runtime hash.
func abi(p Plan, runtimeHash uint64) uint64 {
	p.ABI = 0
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // plain numbers and strings, and no float that is not finite
	}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(text, runtimeHash))
	return binary.BigEndian.Uint64(sum[:])
}
