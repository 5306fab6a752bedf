//! A network for tests: namespaces that can reach each other only through this process, which delays, loses and
//! filters their packets by commands on its standard input, and counts packets by sender and receiver.

#[cfg(target_os = "linux")]
mod capture;
mod router;
#[cfg(target_os = "linux")]
mod tun;

use anyhow::Result;

const HELP: &str = "\
coplay-net [--seed N] NODE...

Makes a network namespace for each NODE, with an IPv4 address of its own, and carries packets between them.
Needs root, Linux with /dev/net/tun, and `ip` of iproute2. Prints one JSON line when all is there:
  {\"nodes\":[{\"name\":\"a\",\"netns\":\"coplay-17-a\",\"address\":\"10.78.0.1\"},..]}
Then it obeys lines on its standard input and answers each with a line; at the end of the input it removes all.

  set FROM TO KEY=VALUE...   how packets travel from FROM to TO (* is every node); other keys stay
      delay_ms=40            delay
      jitter_ms=5            the delay differs by so much in either direction
      loss=0.02              share of packets lost
      rate_kbit=2000         rate; 0 is any
      reorder=true           whether jitter may change the order
      pass=tcp:8080,udp      what is let through: all, none, or protocols with or without a port
  flows                      who sent how many packets to whom, and how many were let through, as JSON
  forget                     counts from zero
  capture FILE               writes every packet that is sent from now on, as pcap
  release                    ends that file

Example, by hand:
  coplay-net server a b <<< 'set * * delay_ms=30'
  ip netns exec coplay-17-a ping 10.78.0.2";

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error:#}");
        std::process::exit(1);
    }
}

fn run() -> Result<()> {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_env();
    let (mut seed, mut nodes) = (1, Vec::new());
    while let Some(arg) = parser.next()? {
        match arg {
            Long("seed") => seed = parser.value()?.parse()?,
            Long("help") | Short('h') => {
                println!("{HELP}");
                return Ok(());
            }
            Value(node) => nodes.push(node.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    if nodes.is_empty() || nodes.len() > 250 {
        anyhow::bail!("name 1 to 250 nodes; --help says more");
    }
    carry(&nodes, seed)
}

#[cfg(not(target_os = "linux"))]
fn carry(_: &[String], _: u64) -> Result<()> {
    anyhow::bail!("there are network namespaces on Linux alone")
}

#[cfg(target_os = "linux")]
fn carry(nodes: &[String], seed: u64) -> Result<()> {
    linux::carry(nodes, seed)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    use std::fs::File;
    use std::io::{self, BufRead as _, BufWriter, Write as _};
    use std::net::Ipv4Addr;
    use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
    use std::thread;
    use std::time::{Duration, Instant};

    use anyhow::Result;

    use crate::capture::Capture;
    use crate::router::Router;
    use crate::tun::{self, Device, Namespace};

    /// A packet on its way: when it arrives, in which order it was sent, and where.
    type Travelling = Reverse<(u64, u64, usize, Vec<u8>)>;

    struct Air {
        router: Router,
        travelling: BinaryHeap<Travelling>,
        sent: u64,
        capture: Option<Capture<BufWriter<File>>>,
    }

    impl Air {
        /// Obeys a line; gives the answer.
        fn obey(&mut self, line: &str) -> Result<String, String> {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("capture", file) => self.capture(file),
                ("release", "") => self.release(),
                _ => return self.router.obey(line),
            }
            .map(|()| "ok".into())
            .map_err(|error| format!("`{line}`: {error}"))
        }

        fn capture(&mut self, file: &str) -> io::Result<()> {
            self.release()?;
            let file = BufWriter::new(File::create(file)?);
            self.capture = Some(Capture::begin(file)?);
            Ok(())
        }

        fn release(&mut self) -> io::Result<()> {
            self.capture.take().map_or(Ok(()), Capture::finish)
        }

        /// A packet is put on the wire.
        fn send(&mut self, now_us: u64, from: usize, bytes: &[u8]) {
            if let Some(Err(error)) = self.capture.as_mut().map(|file| file.add(now_us, bytes)) {
                eprintln!("the capture ends: {error}");
                self.capture = None;
            }
            if let Some((due_us, to)) = self.router.handle(now_us, from, bytes) {
                let packet = (due_us, self.sent, to, bytes.to_vec());
                self.sent += 1;
                self.travelling.push(Reverse(packet));
            }
        }
    }

    struct Wire {
        started: Instant,
        air: Mutex<Air>,
        sooner: Condvar,
    }

    impl Wire {
        fn air(&self) -> MutexGuard<'_, Air> {
            self.air.lock().unwrap_or_else(PoisonError::into_inner)
        }

        fn now_us(&self) -> u64 {
            self.started.elapsed().as_micros() as u64
        }
    }

    pub(super) fn carry(nodes: &[String], seed: u64) -> Result<()> {
        tun::sweep()?;
        let addressed = nodes
            .iter()
            .cloned()
            .zip((1..).map(|n| Ipv4Addr::new(10, 78, 0, n)));
        let addressed: Vec<(String, Ipv4Addr)> = addressed.collect();
        let namespaces = addressed
            .iter()
            .map(|(node, address)| Namespace::make(node, *address))
            .collect::<Result<Vec<_>>>()?;
        let wire = Arc::new(Wire {
            started: Instant::now(),
            air: Mutex::new(Air {
                router: Router::new(addressed.clone(), seed),
                travelling: BinaryHeap::new(),
                sent: 0,
                capture: None,
            }),
            sooner: Condvar::new(),
        });
        let mut devices = Vec::new();
        for (number, namespace) in namespaces.iter().enumerate() {
            devices.push(namespace.device()?);
            let (device, wire) = (namespace.device()?, Arc::clone(&wire));
            thread::spawn(move || collect(&wire, number, device));
        }
        let delivering = Arc::clone(&wire);
        thread::spawn(move || deliver(&delivering, devices));
        let told = addressed
            .iter()
            .zip(&namespaces)
            .map(|((node, address), namespace)| {
                let netns = namespace.name();
                format!(r#"{{"name":"{node}","netns":"{netns}","address":"{address}"}}"#)
            });
        let told: Vec<String> = told.collect();
        println!(r#"{{"nodes":[{}]}}"#, told.join(","));
        obey(&wire)
    }

    /// Does what the standard input says, to its end.
    fn obey(wire: &Wire) -> Result<()> {
        for line in std::io::stdin().lock().lines() {
            let answer = wire.air().obey(&line?);
            let answer = answer.unwrap_or_else(|error| format!("error: {error}"));
            let mut out = std::io::stdout().lock();
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
        Ok(())
    }

    fn collect(wire: &Wire, from: usize, mut device: Device) {
        let mut packet = vec![0; 65_536];
        while let Ok(len) = device.read(&mut packet) {
            wire.air().send(wire.now_us(), from, &packet[..len]);
            wire.sooner.notify_one();
        }
    }

    fn deliver(wire: &Wire, mut devices: Vec<Device>) {
        let mut air = wire.air();
        loop {
            let due_us = air.travelling.peek().map(|Reverse((due_us, ..))| *due_us);
            let now_us = wire.now_us();
            match due_us {
                Some(due_us) if due_us <= now_us => {
                    if let Some(Reverse((_, _, to, bytes))) = air.travelling.pop() {
                        devices[to].write(&bytes);
                    }
                }
                _ => {
                    let wait = due_us.map_or(1_000_000, |due_us| due_us - now_us);
                    let waited = wire.sooner.wait_timeout(air, Duration::from_micros(wait));
                    air = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}
