//! Network namespaces, and the device in each through which its packets come here.
//!
//! Needs root, Linux with `/dev/net/tun`, and `ip` of iproute2.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result, bail};

/// Name of the device in each namespace.
const DEVICE: &str = "wan0";

/// The beginning of each namespace's name; the process id follows.
const PREFIX: &str = "coplay-";

/// A namespace with one device. It is gone when this is dropped; what runs in it loses its network.
pub(crate) struct Namespace {
    name: String,
    device: File,
}

impl Namespace {
    /// Makes a namespace whose only way out is a device with this address.
    ///
    /// # Errors
    /// A sentence about the step that failed.
    pub(crate) fn make(node: &str, address: Ipv4Addr) -> Result<Self> {
        let name = format!("{PREFIX}{}-{node}", std::process::id());
        ip(&["netns", "add", &name])?;
        let device = device_in(&name).inspect_err(|_| {
            let _ = ip(&["netns", "del", &name]);
        })?;
        let namespace = Self { name, device };
        let there = |args: &[&str]| ip(&[&["-n", namespace.name.as_str()], args].concat());
        there(&["link", "set", "lo", "up"])?;
        there(&["address", "add", &format!("{address}/24"), "dev", DEVICE])?;
        there(&["link", "set", DEVICE, "up"])?;
        there(&["route", "add", "default", "dev", DEVICE])?;
        Ok(namespace)
    }

    /// Its name, for `ip netns exec`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Another handle of its device: a read gives one packet, a write takes one.
    ///
    /// # Errors
    /// The process has too many files open.
    pub(crate) fn device(&self) -> io::Result<Device> {
        self.device.try_clone().map(Device)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&["netns", "del", &self.name]);
    }
}

/// The device of a namespace.
pub(crate) struct Device(File);

impl Device {
    /// Waits for the next packet.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn read(&mut self, packet: &mut [u8]) -> io::Result<usize> {
        self.0.read(packet)
    }

    /// Delivers a packet; a namespace that takes none at the moment loses it.
    pub(crate) fn write(&mut self, packet: &[u8]) {
        let _ = self.0.write(packet);
    }
}

/// Removes the namespaces of processes of this program that were killed.
///
/// # Errors
/// `ip` cannot be run.
pub(crate) fn sweep() -> Result<()> {
    let list = Command::new("ip").args(["netns", "list"]).output();
    let list = list.context("`ip` cannot be run; install iproute2")?;
    for line in String::from_utf8_lossy(&list.stdout).lines() {
        let name = line.split_whitespace().next().unwrap_or_default();
        let process = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('-'));
        if process.is_some_and(|(id, _)| !Path::new("/proc").join(id).exists()) {
            ip(&["netns", "del", name])?;
        }
    }
    Ok(())
}

fn ip(args: &[&str]) -> Result<()> {
    let output = Command::new("ip").args(args).output();
    let output = output.context("`ip` cannot be run; install iproute2")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`ip {}`: {}", args.join(" "), said.trim());
    }
    Ok(())
}

/// Makes the device inside the namespace, on its own thread: a thread does not come back from there.
fn device_in(namespace: &str) -> Result<File> {
    let there = File::open(Path::new("/var/run/netns").join(namespace))?;
    let (made, making) = mpsc::channel();
    thread::spawn(move || made.send(enter(&there).and_then(|()| open())));
    making
        .recv()
        .context("the thread ended")?
        .context("/dev/net/tun cannot be used; this needs root and a kernel with TUN")
}

fn enter(namespace: &File) -> io::Result<()> {
    // SAFETY: setns takes a descriptor that is open for the call and no memory of ours.
    match unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn open() -> io::Result<File> {
    // SAFETY: the path is a C string.
    let number = unsafe { libc::open(c"/dev/net/tun".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was opened above and is owned by nobody else.
    let device = unsafe { File::from_raw_fd(number) };
    // SAFETY: zero is a value of every field.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(DEVICE.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an ifreq, which lives for the call.
    match unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &mut request) } {
        0.. => Ok(device),
        _ => Err(io::Error::last_os_error()),
    }
}
