//! The interpreter behind a module: calls by export, within the limits, and reasons in words when one does not return.

use env_core::guest::{Engine, Export, ModuleError, Type};
use wasmi::errors::{ErrorKind, FuelError, InstantiationError, MemoryError, TableError};
use wasmi::{
    Error, ExternType, Func, Instance, Linker, Memory, Module, Store, StoreLimits,
    StoreLimitsBuilder, TrapCode, Val, ValType,
};

use crate::ModuleLimits;

/// Bytes of a page of memory.
const PAGE: usize = 1 << 16;

/// One instance of a module in the interpreter.
#[derive(Debug)]
pub struct Interpreter {
    store: Store<StoreLimits>,
    memory: Memory,
    /// In the order of [`Export::ALL`].
    functions: [Option<Func>; Export::ALL.len()],
    limits: ModuleLimits,
}

/// Checks that a module has the exports of the interface, each of its type.
pub(crate) fn check_exports(module: &Module) -> Result<(), ModuleError> {
    let unfit = |what: String| Err(ModuleError::Unfit(what));
    if !matches!(module.get_export("memory"), Some(ExternType::Memory(_))) {
        return unfit(
            "the module does not export its `memory`, in which messages are exchanged".into(),
        );
    }
    for export in Export::ALL {
        let name = export.name();
        let function = match module.get_export(name) {
            Some(ExternType::Func(function)) => function,
            None if export.is_optional() => continue,
            None => {
                return unfit(format!(
                    "the module does not export `{name}`: in Rust `env_core::export_env!` in a `cdylib` exports it, \
                     in C an `export_name` attribute"
                ));
            }
            Some(_) => return unfit(format!("the export `{name}` is no function")),
        };
        let is = |have: &[ValType], want: Option<Type>| have == want.map(value_type).as_slice();
        if !is(function.params(), export.argument()) || !is(function.results(), export.result()) {
            return unfit(format!(
                "the export `{name}` has another type than the interface: it wants {} and gives {}",
                in_words(export.argument()),
                in_words(export.result())
            ));
        }
    }
    Ok(())
}

fn value_type(of: Type) -> ValType {
    match of {
        Type::I32 => ValType::I32,
        Type::I64 => ValType::I64,
    }
}

fn in_words(of: Option<Type>) -> &'static str {
    match of {
        Some(Type::I32) => "an i32",
        Some(Type::I64) => "an i64",
        None => "nothing",
    }
}

impl Interpreter {
    /// Makes an instance of a module whose exports are checked.
    pub(crate) fn start(module: &Module, limits: &ModuleLimits) -> Result<Self, ModuleError> {
        let guard = StoreLimitsBuilder::new()
            .instances(1)
            .memories(1)
            .tables(8)
            .memory_size(limits.memory_pages as usize * PAGE)
            .table_elements(limits.table_elements as usize)
            .trap_on_grow_failure(true)
            .build();
        let mut store = Store::new(module.engine(), guard);
        store.limiter(|guard| guard);
        let starting = |error: Error| ModuleError::Fault {
            call: "start",
            what: reason(&error, limits.open_fuel, limits),
        };
        store.set_fuel(limits.open_fuel).map_err(starting)?;
        let instance = Linker::new(module.engine())
            .instantiate_and_start(&mut store, module)
            .map_err(starting)?;
        let memory = instance
            .get_memory(&store, "memory")
            .ok_or_else(|| ModuleError::Unfit("the module does not export its `memory`".into()))?;
        let functions = functions(&instance, &store);
        Ok(Self {
            store,
            memory,
            functions,
            limits: *limits,
        })
    }

    fn fuel(&self, export: Export) -> u64 {
        match export {
            Export::Open | Export::Facts | Export::Reset => self.limits.open_fuel,
            _ => self.limits.call_fuel,
        }
    }
}

fn functions(instance: &Instance, store: &Store<StoreLimits>) -> [Option<Func>; Export::ALL.len()] {
    Export::ALL.map(|export| instance.get_func(store, export.name()))
}

impl Engine for Interpreter {
    fn has(&self, export: Export) -> bool {
        self.functions[export as usize].is_some()
    }

    fn call(&mut self, export: Export, argument: i64) -> Result<i64, String> {
        let function = self.functions[export as usize].ok_or("is not exported")?;
        let fuel = self.fuel(export);
        let argument = export.argument().map(|of| match of {
            Type::I32 => Val::I32(argument as i32),
            Type::I64 => Val::I64(argument),
        });
        let mut result = export.result().map(|_| Val::I64(0));
        self.store
            .set_fuel(fuel)
            .and_then(|()| {
                let results = result.as_mut_slice();
                function.call(&mut self.store, argument.as_slice(), results)
            })
            .map_err(|error| reason(&error, fuel, &self.limits))?;
        Ok(match result {
            Some(Val::I32(value)) => value.into(),
            Some(Val::I64(value)) => value,
            _ => 0,
        })
    }

    fn read(&mut self, at: u32, len: u32, out: &mut Vec<u8>) -> Option<()> {
        let bytes = self.memory.data(&self.store).get(range(at, len)?)?;
        out.clear();
        out.extend_from_slice(bytes);
        Some(())
    }

    fn write(&mut self, at: u32, bytes: &[u8]) -> Option<()> {
        let range = range(at, u32::try_from(bytes.len()).ok()?)?;
        let place = self.memory.data_mut(&mut self.store).get_mut(range)?;
        place.copy_from_slice(bytes);
        Some(())
    }
}

fn range(at: u32, len: u32) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(at).ok()?;
    Some(start..start.checked_add(usize::try_from(len).ok()?)?)
}

/// Returns why a call did not return, as a text after its name.
fn reason(error: &Error, fuel: u64, limits: &ModuleLimits) -> String {
    let spent = || {
        format!(
            "did not return within {} instructions: the module was stopped; every call must be bounded",
            grouped(fuel)
        )
    };
    match error.kind() {
        ErrorKind::TrapCode(TrapCode::OutOfFuel)
        | ErrorKind::Fuel(FuelError::OutOfFuel { .. })
        | ErrorKind::Memory(MemoryError::OutOfFuel { .. })
        | ErrorKind::Table(TableError::OutOfFuel { .. }) => return spent(),
        ErrorKind::Memory(_)
        | ErrorKind::Instantiation(
            InstantiationError::FailedToInstantiateMemory(_)
            | InstantiationError::FailedToInstantiateTable(_),
        ) => return too_much_memory(limits),
        _ => {}
    }
    match error.as_trap_code() {
        Some(TrapCode::GrowthOperationLimited) => too_much_memory(limits),
        Some(TrapCode::StackOverflow) => format!(
            "called itself too deep: over {} calls inside one another, or their variables take too much; use a loop",
            limits.recursion
        ),
        Some(TrapCode::UnreachableCodeReached) => {
            "gave up: it reached `unreachable`, as a Rust panic or an abort in C does; \
             `cargo test` of a Rust module tells what the panic said"
                .into()
        }
        Some(TrapCode::MemoryOutOfBounds) => {
            "read or wrote outside of its memory: a pointer or an index is wrong".into()
        }
        Some(TrapCode::IntegerDivisionByZero) => "divided a whole number by zero".into(),
        Some(code) => format!("broke down: {code}"),
        None => format!("broke down: {error}"),
    }
}

fn too_much_memory(limits: &ModuleLimits) -> String {
    format!(
        "wanted more than {} pages of memory ({} MiB) or {} table entries: \
         free what is no longer needed, reuse buffers",
        limits.memory_pages,
        limits.memory_pages / 16,
        limits.table_elements
    )
}

/// A number with its thousands apart: `50,000,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
