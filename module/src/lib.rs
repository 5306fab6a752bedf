//! Environment modules, natively: a file that follows `docs/environment-abi.md` becomes an [`env_core::World`].
//!
//! The code runs in an interpreter that counts instructions and owns all memory of the module, so that a module
//! that loops, recurses, grows or lies is stopped, and nothing else notices. A module can reach nothing outside.
//! This crate must not know of studies, networks or files.
//!
//! ```no_run
//! use env_core::World as _;
//!
//! let bytes = std::fs::read("my_env.wasm")?;
//! let mut world = module::load(&bytes, r#"{"horizon": 200}"#, module::ModuleLimits::default())?;
//! world.reset(7);
//! let over = world.step(&[0, 1]).over;
//! if let Some(fault) = world.fault() {
//!     eprintln!("the module was stopped: {fault}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod interpreter;

use env_core::guest::{self, Guest, MessageLimits};
use wasmi::{Config, Engine};

pub use env_core::guest::{ModuleError, ModuleFacts, Sprite};
pub use interpreter::Interpreter;

/// A running environment inside a module.
pub type Module = Guest<Interpreter>;

/// The resources that a module may use before it is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleLimits {
    /// The largest file, bytes.
    pub module_bytes: usize,
    /// Instructions of the start function, of `coplay_open`, `coplay_facts` and `coplay_reset`, each.
    pub open_fuel: u64,
    /// Instructions of any other call.
    pub call_fuel: u64,
    /// Memory, pages of 64 KiB. Saved states lie in it, so it bounds them too.
    pub memory_pages: u32,
    /// Entries of a table of functions.
    pub table_elements: u32,
    /// Calls inside one another.
    pub recursion: u32,
    /// Lengths of messages.
    pub messages: MessageLimits,
}

impl Default for ModuleLimits {
    /// A file of 16 MiB; a billion instructions to open (seconds) and 50 million to step (a fraction of one);
    /// 64 MiB of memory; 10,000 table entries; 1,000 calls deep; messages of 1 MiB, facts of 4 MiB.
    fn default() -> Self {
        Self {
            module_bytes: 16 << 20,
            open_fuel: 1_000_000_000,
            call_fuel: 50_000_000,
            memory_pages: 1024,
            table_elements: 10_000,
            recursion: 1_000,
            messages: MessageLimits::default(),
        }
    }
}

/// A module that is compiled and not yet opened: many worlds may be opened from it.
#[derive(Debug)]
pub struct Code {
    module: wasmi::Module,
    limits: ModuleLimits,
}

impl Code {
    /// Compiles a module.
    ///
    /// # Errors
    /// [`ModuleError::Unfit`]: not WebAssembly, an import, a missing export or one of another type.
    pub fn compile(bytes: &[u8], limits: ModuleLimits) -> Result<Self, ModuleError> {
        let unfit = |what: String| Err(ModuleError::Unfit(what));
        if bytes.len() > limits.module_bytes {
            let (len, most) = (bytes.len(), limits.module_bytes);
            return unfit(format!(
                "the file has {len} bytes; at most {most} are taken"
            ));
        }
        if !bytes.starts_with(b"\0asm") {
            return unfit(
                "this is no WebAssembly module: it is no WebAssembly file, which begins with the bytes `\\0asm`".into(),
            );
        }
        let module = match wasmi::Module::new(&engine(&limits), bytes) {
            Ok(module) => module,
            Err(error) => {
                return unfit(format!(
                    "this is no WebAssembly module that can be run: {error}"
                ));
            }
        };
        if let Some(import) = module.imports().next() {
            return unfit(format!(
                "the module imports `{}.{}`, and an environment imports nothing: \
                 build it for wasm32-unknown-unknown, without a runtime that calls the outside (WASI, Emscripten)",
                import.module(),
                import.name()
            ));
        }
        interpreter::check_exports(&module)?;
        Ok(Self { module, limits })
    }

    /// Opens an environment in a fresh instance with these parameters, a JSON object, or nothing for the defaults.
    ///
    /// # Errors
    /// [`ModuleError`]: refused parameters, or a module that breaks the rules of the interface.
    pub fn open(&self, params: &str) -> Result<Module, ModuleError> {
        let interpreter = Interpreter::start(&self.module, &self.limits)?;
        guest::Guest::open(interpreter, params, self.limits.messages)
    }
}

/// Compiles a module and opens an environment in it: [`Code::compile`] and [`Code::open`].
///
/// # Errors
/// [`ModuleError`].
pub fn load(bytes: &[u8], params: &str, limits: ModuleLimits) -> Result<Module, ModuleError> {
    Code::compile(bytes, limits)?.open(params)
}

fn engine(limits: &ModuleLimits) -> Engine {
    let mut config = Config::default();
    config
        .consume_fuel(true)
        .set_max_recursion_depth(limits.recursion as usize)
        .ignore_custom_sections(true)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_custom_page_sizes(false);
    Engine::new(&config)
}
