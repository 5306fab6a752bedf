//! The packet that peers exchange each tick: hand-packed, at most 30 bytes for two players in steady state.
