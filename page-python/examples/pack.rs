fn main() {
    let args: Vec<String> = std::env::args().collect();
    let release = page_python::find_release(None).unwrap();
    let name = args[1].rsplit('/').next().unwrap();
    let world = serde_json::json!({"python": format!("{name}:make")});
    let mut archive = page_python::Archive::new(world, &release, args.len() > 3);
    archive.add_source(name, &std::fs::read(&args[1]).unwrap());
    std::fs::write(&args[2], archive.pack().unwrap()).unwrap();
}
