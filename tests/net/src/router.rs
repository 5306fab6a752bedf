//! The fate of a packet between two nodes: lost, held back, or passed on, and when. No sockets, no clock.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

/// Packets that wait for a slow path longer than this are dropped, microseconds.
const QUEUE_US: u64 = 500_000;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Which packets a path lets through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Every packet.
    All,
    /// Those of these protocols, and with a port on either end if one is named.
    Only(Vec<(u8, Option<u16>)>),
}

/// How a path treats its packets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// Delay, microseconds.
    pub(crate) delay_us: u64,
    /// The delay differs by up to this much in either direction, microseconds.
    pub(crate) jitter_us: u64,
    /// Share of packets lost, 0 to 1.
    pub(crate) loss: f64,
    /// Rate, kilobits per second; 0 for any.
    pub(crate) rate_kbit: u64,
    /// True if jitter may let a packet overtake another.
    pub(crate) reorder: bool,
    /// The packets that pass.
    pub(crate) pass: Pass,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            delay_us: 0,
            jitter_us: 0,
            loss: 0.0,
            rate_kbit: 0,
            reorder: false,
            pass: Pass::All,
        }
    }
}

impl Settings {
    /// Takes over words such as `delay_ms=40`, `loss=0.02`, `pass=tcp:8080,udp`; the rest stays as it is.
    ///
    /// # Errors
    /// A sentence about the first word that means nothing.
    pub(crate) fn apply(&mut self, words: &[&str]) -> Result<(), String> {
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let wrong = || format!("`{word}` is not understood");
            let ms = || {
                let ms: f64 = value.parse().map_err(|_| wrong())?;
                (0.0..=60_000.0)
                    .contains(&ms)
                    .then_some((ms * 1e3) as u64)
                    .ok_or_else(wrong)
            };
            match key {
                "delay_ms" => self.delay_us = ms()?,
                "jitter_ms" => self.jitter_us = ms()?,
                "loss" => {
                    let loss: f64 = value.parse().map_err(|_| wrong())?;
                    self.loss = (0.0..=1.0)
                        .contains(&loss)
                        .then_some(loss)
                        .ok_or_else(wrong)?;
                }
                "rate_kbit" => self.rate_kbit = value.parse().map_err(|_| wrong())?,
                "reorder" => self.reorder = value.parse().map_err(|_| wrong())?,
                "pass" => self.pass = Pass::parse(value).ok_or_else(wrong)?,
                _ => return Err(wrong()),
            }
        }
        Ok(())
    }
}

impl Pass {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "all" => return Some(Self::All),
            "none" => return Some(Self::Only(Vec::new())),
            _ => {}
        }
        let one = |part: &str| {
            let (protocol, port) = match part.split_once(':') {
                Some((protocol, port)) => (protocol, Some(port.parse().ok()?)),
                None => (part, None),
            };
            let protocol = match protocol {
                "tcp" => TCP,
                "udp" => UDP,
                _ => return None,
            };
            Some((protocol, port))
        };
        text.split(',')
            .map(one)
            .collect::<Option<_>>()
            .map(Self::Only)
    }

    fn lets(&self, packet: &Packet) -> bool {
        let fits = |(protocol, port): &(u8, Option<u16>)| {
            *protocol == packet.protocol && port.is_none_or(|port| packet.ports.contains(&port))
        };
        match self {
            Self::All => true,
            Self::Only(these) => these.iter().any(fits),
        }
    }
}

/// The header of an IPv4 packet, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    protocol: u8,
    from: Ipv4Addr,
    to: Ipv4Addr,
    ports: [u16; 2],
}

impl Packet {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; 20] = bytes.first_chunk()?;
        if head[0] >> 4 != 4 {
            return None;
        }
        let rest = bytes.get(usize::from(head[0] & 15) * 4..)?;
        let port = |at| Some(u16::from_be_bytes([*rest.get(at)?, *rest.get(at + 1)?]));
        let address = |at: usize| Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3]);
        let has_ports = matches!(head[9], TCP | UDP);
        Some(Self {
            protocol: head[9],
            from: address(12),
            to: address(16),
            ports: if has_ports {
                [port(0)?, port(2)?]
            } else {
                [0; 2]
            },
        })
    }
}

/// The pairs of nodes that exchanged packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flow {
    from: Ipv4Addr,
    to: Ipv4Addr,
    protocol: u8,
}

/// How often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Packets that the sender put on the wire.
    pub(crate) sent: u64,
    /// Those that were delivered or will be.
    pub(crate) passed: u64,
}

struct Path {
    settings: Settings,
    random: u64,
    free_us: u64,
    last_due_us: u64,
}

impl Path {
    /// A number from 0 to below 1. Source: Marsaglia, Xorshift RNGs, 2003.
    fn random(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns when a packet arrives; `None` if it is lost.
    fn due_us(&mut self, now_us: u64, len: usize) -> Option<u64> {
        // Both are drawn for every packet, so that one setting does not change what another does.
        let (luck, share) = (self.random(), self.random());
        let settings = &self.settings;
        if luck < settings.loss {
            return None;
        }
        let mut start_us = now_us;
        if let Some(takes_us) = (len as u64 * 8_000).checked_div(settings.rate_kbit) {
            start_us = self.free_us.max(now_us) + takes_us;
            if start_us > now_us + QUEUE_US {
                return None;
            }
            self.free_us = start_us;
        }
        let jitter_us = settings.jitter_us as f64 * (2.0 * share - 1.0);
        let late_us = (settings.delay_us as f64 + jitter_us).max(0.0) as u64;
        let mut due_us = start_us + late_us;
        if !settings.reorder {
            due_us = due_us.max(self.last_due_us);
        }
        self.last_due_us = due_us;
        Some(due_us)
    }
}

/// Nodes, and a path from each to each.
pub(crate) struct Router {
    nodes: Vec<(String, Ipv4Addr)>,
    paths: Vec<Path>,
    flows: BTreeMap<Flow, Count>,
}

impl Router {
    /// Nodes with their names and addresses.
    pub(crate) fn new(nodes: Vec<(String, Ipv4Addr)>, seed: u64) -> Self {
        let paths = (0..nodes.len() * nodes.len()).map(|number| Path {
            settings: Settings::default(),
            // Source: splitmix64's increment, so that neighbours begin far apart; never zero.
            random: (seed ^ (number as u64 + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            free_us: 0,
            last_due_us: 0,
        });
        Self {
            paths: paths.collect(),
            nodes,
            flows: BTreeMap::new(),
        }
    }

    /// Says what becomes of a packet of a node: when it arrives, and at which.
    pub(crate) fn handle(
        &mut self,
        now_us: u64,
        from: usize,
        bytes: &[u8],
    ) -> Option<(u64, usize)> {
        let packet = Packet::parse(bytes)?;
        let to = self
            .nodes
            .iter()
            .position(|(_, address)| *address == packet.to)?;
        let flow = Flow {
            from: packet.from,
            to: packet.to,
            protocol: packet.protocol,
        };
        let path = &mut self.paths[from * self.nodes.len() + to];
        let count = self.flows.entry(flow).or_default();
        count.sent += 1;
        if !path.settings.pass.lets(&packet) {
            return None;
        }
        let due_us = path.due_us(now_us, bytes.len())?;
        count.passed += 1;
        Some((due_us, to))
    }

    /// Obeys a line: `set FROM TO KEY=VALUE…`, `flows`, or `forget`. `*` is every node. Gives the answer.
    ///
    /// # Errors
    /// A sentence about what is not understood; nothing is changed then.
    pub(crate) fn obey(&mut self, line: &str) -> Result<String, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["set", from, to, ref what @ ..] => self.set(from, to, what).map(|()| "ok".into()),
            ["flows"] => Ok(self.to_string()),
            ["forget"] => {
                self.flows.clear();
                Ok("ok".into())
            }
            _ => Err(format!("`{line}` is not understood")),
        }
    }

    fn set(&mut self, from: &str, to: &str, what: &[&str]) -> Result<(), String> {
        let matching = |name: &str| -> Result<Vec<usize>, String> {
            let numbers = 0..self.nodes.len();
            let fits = |number: &usize| name == "*" || self.nodes[*number].0 == name;
            let found: Vec<usize> = numbers.filter(fits).collect();
            match found.is_empty() {
                true => Err(format!("there is no node `{name}`")),
                false => Ok(found),
            }
        };
        let (from, to) = (matching(from)?, matching(to)?);
        Settings::default().apply(what)?;
        for from in from {
            for to in &to {
                let path = &mut self.paths[from * self.nodes.len() + to];
                path.settings.apply(what)?;
            }
        }
        Ok(())
    }
}

/// The flows as a JSON array.
impl fmt::Display for Router {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[")?;
        for (number, (flow, count)) in self.flows.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let protocol = match flow.protocol {
                TCP => "tcp",
                UDP => "udp",
                _ => "other",
            };
            let (Flow { from, to, .. }, Count { sent, passed }) = (flow, count);
            write!(
                out,
                r#"{comma}{{"from":"{from}","to":"{to}","protocol":"{protocol}","sent":{sent},"passed":{passed}}}"#
            )?;
        }
        out.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router(words: &str) -> Router {
        let nodes = ["a", "b", "c"].iter().zip(1..);
        let nodes = nodes.map(|(name, n)| (name.to_string(), Ipv4Addr::new(10, 78, 0, n)));
        let mut router = Router::new(nodes.collect(), 7);
        router.obey(&format!("set * * {words}")).unwrap();
        router
    }

    fn packet(protocol: u8, port: u16) -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 100, 0, 0, 0, 0, 64, protocol, 0, 0];
        bytes.extend([10, 78, 0, 1, 10, 78, 0, 2]);
        bytes.extend(port.to_be_bytes());
        bytes.resize(100, 0);
        bytes
    }

    #[test]
    fn a_packet_arrives_late_and_some_never_do() {
        let mut router = router("delay_ms=40 jitter_ms=5 loss=0.1");
        let dues: Vec<Option<u64>> = (0..1_000)
            .map(|number| {
                let sent_us = number * 10_000;
                let due = router.handle(sent_us, 0, &packet(UDP, 9));
                due.map(|(due_us, to)| {
                    assert_eq!(to, 1);
                    due_us - sent_us
                })
            })
            .collect();
        let arrived: Vec<u64> = dues.iter().flatten().copied().collect();
        assert!((860..=940).contains(&arrived.len()), "{}", arrived.len());
        assert!(arrived.iter().all(|late| (35_000..=45_000).contains(late)));
        assert_eq!(
            router.obey("flows").unwrap(),
            format!(
                r#"[{{"from":"10.78.0.1","to":"10.78.0.2","protocol":"udp","sent":1000,"passed":{}}}]"#,
                arrived.len()
            )
        );
    }

    #[test]
    fn the_same_seed_loses_the_same_packets() {
        let fates = || {
            let mut router = router("loss=0.5");
            (0..64)
                .map(|now| router.handle(now, 0, &packet(UDP, 9)).is_some())
                .collect::<Vec<_>>()
        };
        assert_eq!(fates(), fates());
    }

    #[test]
    fn jitter_keeps_the_order_unless_it_may_not() {
        let inversions = |words: &str| {
            let mut router = router(words);
            let dues: Vec<u64> = (0..200)
                .map(|n| router.handle(n * 1_000, 0, &packet(UDP, 9)).unwrap().0)
                .collect();
            dues.windows(2).filter(|pair| pair[1] < pair[0]).count()
        };
        assert_eq!(inversions("delay_ms=50 jitter_ms=40"), 0);
        assert!(inversions("delay_ms=50 jitter_ms=40 reorder=true") > 20);
    }

    #[test]
    fn a_rate_spreads_packets_and_drops_what_waits_too_long() {
        let mut router = router("rate_kbit=80");
        // 100 bytes take 10 ms.
        let dues: Vec<u64> = (0..100)
            .filter_map(|_| Some(router.handle(0, 0, &packet(UDP, 9))?.0))
            .collect();
        assert_eq!(dues[..3], [10_000, 20_000, 30_000]);
        assert_eq!(dues.len(), 50);
    }

    #[test]
    fn a_firewall_passes_what_it_names() {
        for (pass, protocol, port, passes) in [
            ("all", UDP, 9, true),
            ("none", TCP, 80, false),
            ("tcp", TCP, 9, true),
            ("tcp", UDP, 9, false),
            ("tcp:8080", TCP, 8_080, true),
            ("tcp:8080", TCP, 8_081, false),
            ("tcp:8080,udp", UDP, 1, true),
        ] {
            let mut router = router(&format!("pass={pass}"));
            let found = router.handle(0, 0, &packet(protocol, port)).is_some();
            assert_eq!(found, passes, "{pass} {protocol} {port}");
        }
    }

    #[test]
    fn one_path_is_set_apart_from_the_rest() {
        let mut router = router("delay_ms=1");
        router.obey("set a b loss=1").unwrap();
        assert_eq!(router.handle(0, 0, &packet(UDP, 9)), None);
        router.obey("set a b loss=0").unwrap();
        assert_eq!(router.handle(0, 0, &packet(UDP, 9)), Some((1_000, 1)));
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let mut router = router("");
        for line in [
            "",
            "hold",
            "set a z loss=1",
            "set a b loss=2",
            "set a b speed=9",
            "set a b pass=sctp",
        ] {
            assert!(router.obey(line).is_err(), "{line}");
        }
    }

    #[test]
    fn broken_packets_go_nowhere() {
        let mut router = router("");
        let whole = packet(TCP, 80);
        for len in 0..23 {
            assert_eq!(router.handle(0, 0, &whole[..len]), None);
        }
        assert_eq!(router.handle(0, 0, &[0x60; 60]), None);
    }
}
