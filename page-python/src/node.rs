//! The Python of pages, natively: Pyodide under Node.js, behind the engine of a module.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use env_core::guest::{Engine, Export, Guest, MessageLimits, ModuleError};
use protocol::hash::sha256_hex;

use crate::archive::Manifest;
use crate::release::find_release;

/// The script that Node.js runs.
const SCRIPT: &str = include_str!("host.mjs");
/// The lines that it shares with pages.
const LIBRARY: &str = include_str!("../../web/python_world.js");

/// How long Python may take to start and to open an environment.
const OPEN_LIMIT: Duration = Duration::from_secs(120);
/// How long any other call may take.
const CALL_LIMIT: Duration = Duration::from_secs(20);

/// The longest answer, bytes.
const LONGEST: usize = 8 << 20;

/// How much of its error output is kept, bytes.
const LAST_WORDS: usize = 4 << 10;

/// Where messages stand for the caller: they travel with the calls.
const PLACE: i64 = 1;

/// A running environment in Python.
pub type NodeWorld = Guest<NodeEngine>;

/// Opens the environment of an archive with these parameters, a JSON object, or nothing for the defaults.
///
/// # Errors
/// [`ModuleError::Unfit`] if the archive cannot be read, its release of Pyodide is not installed or Node.js is missing;
/// [`ModuleError::Params`] if Python cannot make the environment.
pub fn open_world(bytes: &[u8], params: &str) -> Result<NodeWorld, ModuleError> {
    let engine = NodeEngine::start(bytes).map_err(ModuleError::Unfit)?;
    let limits = MessageLimits {
        message_bytes: 4 << 20,
        ..MessageLimits::default()
    };
    Guest::open(engine, params, limits)
}

/// One world in a process of Node.js, which it shares with other worlds of the same archive.
#[derive(Debug)]
pub struct NodeEngine {
    process: Arc<Mutex<Process>>,
    number: u32,
    /// The message for the next call.
    inbox: Vec<u8>,
    /// The message of the last call.
    outbox: Vec<u8>,
}

/// Processes that run, by the hash of their archive.
static PROCESSES: Mutex<BTreeMap<String, Weak<Mutex<Process>>>> = Mutex::new(BTreeMap::new());

impl NodeEngine {
    fn start(bytes: &[u8]) -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let process = find_process(bytes)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut request = vec![0];
        request.extend(number.to_le_bytes());
        request.extend(bytes);
        lock(&process).ask(&request, OPEN_LIMIT)?;
        Ok(Self {
            process,
            number,
            inbox: Vec::new(),
            outbox: Vec::new(),
        })
    }
}

/// The process that runs an archive, or a new one.
fn find_process(bytes: &[u8]) -> Result<Arc<Mutex<Process>>, String> {
    let mut running = lock(&PROCESSES);
    running.retain(|_, process| process.strong_count() > 0);
    let hash = sha256_hex(bytes);
    if let Some(process) = running.get(&hash).and_then(Weak::upgrade)
        && lock(&process).fault.is_none()
    {
        return Ok(process);
    }
    let process = Arc::new(Mutex::new(Process::start(bytes)?));
    running.insert(hash, Arc::downgrade(&process));
    Ok(process)
}

fn lock<T: ?Sized>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for NodeEngine {
    fn drop(&mut self) {
        let mut request = vec![2];
        request.extend(self.number.to_le_bytes());
        // A process that is gone has forgotten the world.
        lock(&self.process).ask(&request, CALL_LIMIT).ok();
    }
}

impl Engine for NodeEngine {
    fn has(&self, _export: Export) -> bool {
        true
    }

    fn call(&mut self, export: Export, argument: i64) -> Result<i64, String> {
        match export {
            Export::Abi => return Ok(2),
            Export::Inbox | Export::Outbox => return Ok(PLACE),
            _ => {}
        }
        let limit = match export {
            Export::Open => OPEN_LIMIT,
            _ => CALL_LIMIT,
        };
        let mut request = vec![1];
        request.extend(self.number.to_le_bytes());
        request.push(export as u8);
        request.extend(argument.to_le_bytes());
        request.append(&mut self.inbox);
        let answer = lock(&self.process).ask(&request, limit);
        let answer = answer.map_err(|what| format!("broke down: {what}"))?;
        let (number, message) = answer.split_first_chunk().ok_or("gave no answer")?;
        self.outbox = message.to_vec();
        Ok(i64::from_le_bytes(*number))
    }

    fn read(&mut self, _at: u32, len: u32, out: &mut Vec<u8>) -> Option<()> {
        let message = self.outbox.get(..len as usize)?;
        out.clear();
        out.extend_from_slice(message);
        Some(())
    }

    fn write(&mut self, _at: u32, bytes: &[u8]) -> Option<()> {
        self.inbox = bytes.to_vec();
        Some(())
    }
}

/// A process of Node.js with Python in it.
#[derive(Debug)]
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<io::Result<Vec<u8>>>,
    /// The end of its error output.
    words: Arc<Mutex<Vec<u8>>>,
    /// The reason why it no longer answers.
    fault: Option<String>,
}

impl Process {
    fn start(bytes: &[u8]) -> Result<Self, String> {
        let manifest = Manifest::read(bytes).map_err(|error| error.to_string())?;
        let version = &manifest.pyodide;
        let release = find_release(Some(version)).ok_or_else(|| {
            format!("Pyodide {version} is not installed: `coplay pyodide install` installs it")
        })?;
        if release.hashes() != &manifest.release {
            return Err(format!(
                "the installed Pyodide {version} is not the one of this environment: `coplay pyodide install` \
                 with the files that the study was made with brings it back"
            ));
        }
        let node = std::env::var_os("COPLAY_NODE").unwrap_or_else(|| "node".into());
        let library = format!(
            "data:text/javascript;base64,{}",
            BASE64_STANDARD.encode(LIBRARY)
        );
        let names = Export::ALL.map(Export::name).join(",");
        let mut child = Command::new(&node)
            .args(["--input-type=module", "--eval", SCRIPT, "--"])
            .arg(release.folder())
            .args([&library, &names])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                format!(
                    "Node.js does not start ({}: {error}), which runs the Python of pages: install Node.js 20 or newer",
                    node.display()
                )
            })?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("Node.js has no output")?;
        let words = Arc::new(Mutex::new(Vec::new()));
        if let Some(errors) = child.stderr.take() {
            let words = Arc::clone(&words);
            std::thread::spawn(move || keep_last_words(errors, &words));
        }
        let (found, answers) = mpsc::channel();
        std::thread::Builder::new()
            .name("page-python".to_owned())
            .spawn(move || read_answers(output, |answer| found.send(answer).is_ok()))
            .map_err(|error| error.to_string())?;
        Ok(Self {
            child,
            input,
            answers,
            words,
            fault: None,
        })
    }

    /// Asks, and waits for the answer.
    fn ask(&mut self, request: &[u8], limit: Duration) -> Result<Vec<u8>, String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let answer = self.exchange(request, limit).map_err(|fault| {
            self.stop();
            let words = String::from_utf8_lossy(&lock(&self.words))
                .trim()
                .to_owned();
            let fault = [fault, words].join("\n").trim_end().to_owned();
            self.fault.insert(fault).clone()
        })?;
        match answer.split_first() {
            Some((0, result)) => Ok(result.to_vec()),
            Some((_, text)) => Err(String::from_utf8_lossy(text).trim_end().to_owned()),
            None => Err("Python gave an empty answer".to_owned()),
        }
    }

    fn exchange(&mut self, request: &[u8], limit: Duration) -> Result<Vec<u8>, String> {
        let gone = || "the process of Python is gone".to_owned();
        let input = self.input.as_mut().ok_or_else(gone)?;
        let length = u32::try_from(request.len()).map_err(|_| "the request is too long")?;
        let sent = input
            .write_all(&length.to_le_bytes())
            .and_then(|()| input.write_all(request))
            .and_then(|()| input.flush());
        sent.map_err(|_| gone())?;
        match self.answers.recv_timeout(limit) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(gone()),
            Err(RecvTimeoutError::Timeout) => Err(format!(
                "Python gave no answer within {} s",
                limit.as_secs()
            )),
        }
    }

    fn stop(&mut self) {
        self.input = None;
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

fn read_answers(mut output: impl Read, mut found: impl FnMut(io::Result<Vec<u8>>) -> bool) {
    loop {
        let answer = read_frame(&mut output);
        let is_last = answer.is_err();
        if !found(answer) || is_last {
            return;
        }
    }
}

/// Reads an error output to its end, and keeps the last part of it.
fn keep_last_words(mut errors: impl Read, words: &Mutex<Vec<u8>>) {
    let mut part = [0; 1024];
    while let Ok(count @ 1..) = errors.read(&mut part) {
        let mut words = lock(words);
        words.extend_from_slice(&part[..count]);
        let surplus = words.len().saturating_sub(LAST_WORDS);
        words.drain(..surplus);
    }
}

fn read_frame(output: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    output.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut answer = vec![0; length];
    output.read_exact(&mut answer)?;
    Ok(answer)
}
