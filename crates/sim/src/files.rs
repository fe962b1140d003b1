//! Files of systems and devices. One with `base = "rr-ssd"` has only the keys that differ from those of its base, which is
//! a preset or another file: `base = "mine.toml"`, from the folder of the file that says so.

use std::path::Path;

use flashtwin_nand::{NandConfig, device_names, device_toml};
use flashtwin_settings::{Keys, from_tree, nearest, shown};
use serde_json::{Map, Value};

use crate::error::ConfigError;
use crate::registry::{system_names, system_toml};

pub(crate) const LISTED: &str = "`flashtwin systems NAME` lists every key";

#[derive(Debug, Clone)]
pub(crate) struct Layer {
    /// The path, or the name of the preset.
    pub(crate) place: String,
    /// Its keys, without `base`.
    pub(crate) given: Map<String, Value>,
    text: String,
}

/// What a file describes.
struct Kind {
    word: &'static str,
    names: fn() -> Vec<&'static str>,
    text: fn(&str) -> Option<&'static str>,
}

const SYSTEM: Kind = Kind { word: "system", names: system_names, text: system_toml };
const DEVICE: Kind = Kind { word: "device", names: device_names, text: device_toml };

pub(crate) fn system_layers(name: &str) -> Result<Vec<Layer>, ConfigError> {
    layers(&SYSTEM, name)
}

fn layers(kind: &Kind, name: &str) -> Result<Vec<Layer>, ConfigError> {
    let mut layers = vec![];
    let mut base = layer(kind, name, &mut layers)?;
    while let Some(name) = base {
        let derived: &Layer = &layers[0];
        let is_file = name.ends_with(".toml") && (kind.text)(&name).is_none();
        let beside = || Path::new(&derived.place).with_file_name(&name).to_string_lossy().into_owned();
        let place = if is_file { beside() } else { name.clone() };
        if let Some(circle) = layers.iter().find(|layer| is_same_file(&layer.place, &place)) {
            return Err(ConfigError(format!(
                "{}: base leads back to {}; name a base that is not based on this file",
                derived.place, circle.place
            )));
        }
        let said_by = derived.place.clone();
        base = layer(kind, &place, &mut layers)
            .map_err(|ConfigError(error)| ConfigError(format!("{said_by}: base: {error}")))?;
    }
    Ok(layers)
}

/// Puts a file before those that are based on it; returns its own base.
fn layer(kind: &Kind, name: &str, layers: &mut Vec<Layer>) -> Result<Option<String>, ConfigError> {
    let (place, text) = preset_or_file(kind, name)?;
    let mut given = parse_table(&place, &text)?;
    let base = match given.remove("base") {
        None => None,
        Some(Value::String(base)) => Some(base),
        Some(other) => {
            let word = kind.word;
            let expected = format!("the name of a {word} in quotes, or the path of a .toml file");
            return Err(ConfigError(format!("{place}: base is {other}: expected {expected}")));
        }
    };
    layers.insert(0, Layer { place, given, text });
    Ok(base)
}

fn is_same_file(one: &str, other: &str) -> bool {
    let whole = |path: &str| std::fs::canonicalize(path).ok();
    one == other || whole(one).is_some_and(|path| whole(other) == Some(path))
}

/// A flash array and, for a real drive, the controller properties that every design shares.
pub(crate) struct DeviceFile {
    pub(crate) text: String,
    pub(crate) nand: Map<String, Value>,
    /// The tables `engine` and `ftl` of each file with its place.
    pub(crate) controllers: Vec<(String, Map<String, Value>)>,
}

impl DeviceFile {
    pub(crate) fn read(name: &str, schema: &Value, all: &Keys) -> Result<Self, ConfigError> {
        let mut layers = layers(&DEVICE, name)?;
        let mut controllers = Vec::new();
        let mut source: Option<Value> = None;
        for layer in &mut layers {
            if let Some(Value::String(source)) = source.filter(|_| !layer.given.contains_key("source")) {
                let source =
                    format!("{} of {}; others: {source}", dotted(&layer.given).join(", "), layer.place);
                layer.given.insert("source".into(), Value::from(source));
            }
            source = layer.given.get("source").cloned();
            let tables = ["engine", "ftl"].map(|table| (table.to_owned(), layer.given.remove(table)));
            let tables = tables.into_iter().filter_map(|(name, table)| Some((name, table?))).collect();
            refuse_designs(&layer.place, &tables)?;
            controllers.push((layer.place.clone(), tables));
        }
        let keys = Keys::new(&schema["properties"]["nand"], "`flashtwin devices rr-ssd` shows every key");
        let check = |layers: &[Layer]| -> Result<Map<String, Value>, ConfigError> {
            let mut nand = Map::new();
            layers.iter().for_each(|layer| merge(&mut nand, layer.given.clone()));
            let read: NandConfig = from_tree(nand.clone(), &keys)?;
            if let Some(key) = read.undetermined.iter().find(|key| !all.contains(key)) {
                return Err(ConfigError(format!("undetermined: {}", all.unknown(key))));
            }
            Ok(nand)
        };
        let nand = check(&layers).map_err(|error| blamed(&layers, error, |some| check(some).map(|_| ())))?;
        let text = match layers.as_slice() {
            [alone] => alone.text.clone(),
            _ => {
                let mut whole = nand.clone();
                controllers.iter().for_each(|(_, tables)| merge(&mut whole, tables.clone()));
                toml::to_string(&whole).map_err(|error| ConfigError(error.to_string()))?
            }
        };
        Ok(Self { text, nand, controllers })
    }
}

fn merge(into: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(table)), Value::Object(more)) => merge(table, more),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// An error with the file that is at fault: the first without which there is no such error. Others are not a file's.
pub(crate) fn blamed(
    layers: &[Layer],
    error: ConfigError,
    check: impl Fn(&[Layer]) -> Result<(), ConfigError>,
) -> ConfigError {
    let at_fault = (1..=layers.len()).find(|&count| check(&layers[..count]).as_ref() == Err(&error));
    at_fault.map_or(error.clone(), |count| ConfigError(format!("{}: {error}", layers[count - 1].place)))
}

/// A drive's file must not set keys of a design, because all designs are compared on it.
fn refuse_designs(place: &str, controller: &Map<String, Value>) -> Result<(), ConfigError> {
    let set = dotted(controller);
    match crate::keys::keys().iter().find(|key| key.design.is_some() && set.contains(&key.name)) {
        None => Ok(()),
        Some(key) => Err(ConfigError(format!(
            "{place}: {} is a part of a design, not of a drive: set it in a system's file or with --set",
            key.name
        ))),
    }
}

/// The dotted keys of nested tables.
pub(crate) fn dotted(tables: &Map<String, Value>) -> Vec<String> {
    let below = |(name, value): (&String, &Value)| match value {
        Value::Object(table) => dotted(table).into_iter().map(|key| format!("{name}.{key}")).collect(),
        _ => vec![name.clone()],
    };
    tables.iter().flat_map(below).collect()
}

fn preset_or_file(kind: &Kind, name: &str) -> Result<(String, String), ConfigError> {
    if let Some(text) = (kind.text)(name) {
        return Ok((name.to_owned(), text.to_owned()));
    }
    let what = kind.word;
    if name.ends_with(".toml") {
        return match std::fs::read_to_string(name) {
            Ok(text) => Ok((name.to_owned(), text)),
            Err(error) => Err(ConfigError(format!("{name}: {error}. Expected a {what} file in TOML"))),
        };
    }
    let presets = (kind.names)();
    let nearest = nearest(name, presets.iter().copied());
    let list = presets.join(", ");
    Err(ConfigError(format!(
        "there is no {what} '{}'{} There are: {list}; or give the path of a .toml file",
        shown(name),
        nearest.map_or(".".to_owned(), |near| format!("; did you mean '{near}'?"))
    )))
}

fn parse_table(place: &str, text: &str) -> Result<Map<String, Value>, ConfigError> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        ConfigError(format!("{place}:{line}: not TOML: {}", error.message()))
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::resolve::{Resolved, device_file, resolve};

    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("flashtwin-files-{test}-{}", std::process::id()));
            std::fs::create_dir_all(folder.join("below")).unwrap();
            Folder(folder)
        }

        fn path(&self, name: &str) -> String {
            self.0.join(name).to_string_lossy().into_owned()
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.0.join(name), text).unwrap();
        }

        fn system(&self, name: &str, sets: &[(&str, &str)]) -> Result<Resolved, String> {
            let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
            resolve(&self.path(name), &sets).map_err(|error| error.0.replace(&self.path(""), ""))
        }

        fn error(&self, name: &str) -> String {
            self.system(name, &[]).unwrap_err()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_with_a_base_differs_from_it_in_its_own_keys_alone() {
        let folder = Folder::new("base");
        folder.write("few.toml", "base = \"rr-ssd\"\n[ftl.replication]\nplacement = \"random\"\n");
        folder.write("below/fewer.toml", "base = \"../few.toml\"\nseed = 7\nname = \"mine\"\n");
        let mut expected = resolve("rr-ssd", &[("placement".into(), "random".into())]).unwrap().config;
        (expected.name, expected.description) = ("few".into(), String::new());
        assert_eq!(folder.system("few.toml", &[]).unwrap().config, expected);
        (expected.name, expected.seed) = ("mine".into(), 7);
        assert_eq!(folder.system("below/fewer.toml", &[]).unwrap().config, expected);
    }

    #[test]
    fn a_circle_of_bases_names_both_files() {
        let folder = Folder::new("circle");
        folder.write("a.toml", "base = \"below/b.toml\"\n");
        folder.write("below/b.toml", "base = \"../a.toml\"\n");
        let circle = "below/b.toml: base leads back to a.toml; name a base that is not based on this file";
        assert_eq!(folder.error("a.toml"), circle);
        folder.write("own.toml", "base = \"own.toml\"\n");
        assert!(folder.error("own.toml").starts_with("own.toml: base leads back to own.toml; "));
    }

    #[test]
    fn an_error_names_the_file_of_the_chain_that_is_wrong() {
        let folder = Folder::new("blame");
        folder.write("top.toml", "base = \"middle.toml\"\nseed = 3\n");
        for (middle, error) in [
            ("base = \"rr-ssd\"\nengine.slots = -1", "middle.toml: engine.slots is -1: expected a whole"),
            ("base = \"rr-ssd\"\nengine.slotz = 1", "middle.toml: there is no key 'engine.slotz'"),
            ("device = \"rr-sd\"", "middle.toml: there is no device 'rr-sd'; did you mean 'rr-ssd'?"),
            ("\nseed = 1 2", "top.toml: base: middle.toml:2: not TOML"),
            ("base = \"rr-sdd\"", "middle.toml: base: there is no system 'rr-sdd'; did you mean 'rr-ssd'?"),
            ("base = 1", "top.toml: base: middle.toml: base is 1: expected the name of a system in quotes"),
        ] {
            folder.write("middle.toml", middle);
            let found = folder.error("top.toml");
            assert!(found.starts_with(error), "{found}");
        }
        // What `--set` has wrong is no file's fault.
        folder.write("middle.toml", "base = \"rr-ssd\"\n");
        assert!(folder.system("top.toml", &[("slots", "-1")]).unwrap_err().starts_with("engine.slots is -1"));
    }

    #[test]
    fn a_key_of_a_file_that_its_system_ignores_is_refused_and_the_cure_works() {
        let folder = Folder::new("ignored");
        let keys = "[ftl.replication]\nplacement = \"random\"\nmost_copies = 3\n";
        folder.write("short.toml", keys);
        let error = "short.toml: ftl.replication.most_copies, ftl.replication.placement: not looked at, because \
                     ftl.replication.policy is \"none\"; set base = \"rr-ssd\" at the top of the file, or delete \
                     what is not looked at";
        assert_eq!(folder.error("short.toml"), error);
        folder.write("short.toml", &format!("base = \"rr-ssd\"\n{keys}"));
        assert_eq!(folder.system("short.toml", &[]).unwrap().config.ftl.replication.most_copies, 3);
        // A file does not know what is set beside it, nor what is based on it.
        assert!(folder.system("short.toml", &[("replication.policy", "none")]).is_ok());
        folder.write("none.toml", "base = \"short.toml\"\nftl.replication.policy = \"none\"\n");
        assert!(folder.system("none.toml", &[]).is_ok());
        folder.write("none.toml", &format!("{keys}policy = \"none\"\n"));
        assert!(folder.error("none.toml").ends_with("; change that, or delete what is not looked at"));
    }

    #[test]
    fn keys_of_the_file_that_names_a_drive_replace_those_of_the_drive() {
        let folder = Folder::new("drive");
        folder.write(
            "mine.toml",
            "base = \"ca-ssd\"\ndevice = \"tlc-unit-2021\"\n[engine]\nsuspend = \"none\"\n",
        );
        folder.write("other.toml", "base = \"mine.toml\"\ndevice = \"tlc-unit-2021\"\n");
        let suspends = |name: &str, sets: &[(&str, &str)]| {
            folder.system(name, sets).unwrap().config.engine.suspend == crate::Suspend::ProgramErase
        };
        assert!(!suspends("mine.toml", &[]));
        assert!(suspends("mine.toml", &[("device", "tlc-unit-2021")]) && suspends("other.toml", &[]));
    }

    #[test]
    fn a_drive_with_a_base_has_its_numbers_and_says_which_are_its_own() {
        let folder = Folder::new("device");
        folder.write("fast.toml", "base = \"tlc-unit-2021\"\nread_us = 20\n[engine]\nsuspend = \"none\"\n");
        let path = folder.path("fast.toml");
        let on = |device: &str| resolve("ca-ssd", &[("device".into(), device.into())]).unwrap().config;
        let (mut expected, fast) = (on("tlc-unit-2021"), on(&path));
        let source = format!("read_us, engine.suspend of {path}; others: {}", expected.nand.source);
        (expected.nand.read_us, expected.nand.source, expected.device) = (20.0, source, path.clone());
        expected.engine.suspend = crate::Suspend::None;
        assert_eq!(fast, expected);
        folder.write("printed.toml", &device_file(&path).unwrap());
        let printed = on(&folder.path("printed.toml"));
        assert_eq!((printed.nand, printed.engine), (fast.nand, fast.engine));
        folder.write("fast.toml", "base = \"tlc-unit-2021\"\nread_uz = 20\n");
        let error = device_file(&path).unwrap_err().0;
        assert!(
            error.starts_with(&format!("{path}: there is no key 'read_uz'; did you mean 'read_us'?")),
            "{error}"
        );
    }
}
