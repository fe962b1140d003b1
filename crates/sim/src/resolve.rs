//! Resolves a system's name and settings to a checked configuration.

use std::fmt::Display;
use std::path::Path;

use flashtwin_ftl::Ftl;
use flashtwin_nand::{NandConfig, NandDevice, device_names, device_toml};
use flashtwin_settings::{Keys, from_tree, nearest, set, shown};
use flashtwin_trace::ContentSource;
use serde_json::{Map, Value};

use crate::config::{Concurrency, Config, EngineConfig, MultiPlane, WriteCompletes};
use crate::error::ConfigError;
use crate::registry::{system_names, system_toml};

/// A checked configuration and the device it describes.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Every key.
    pub config: Config,
    /// The flash array.
    pub device: NandDevice,
}

impl Resolved {
    /// The configuration as it is written into results.
    pub fn json(&self) -> Value {
        serde_json::to_value(&self.config).unwrap_or(Value::Null)
    }

    /// Every key as TOML, with its meaning as a comment.
    pub fn toml_documented(&self) -> String {
        crate::toml_doc::document(&self.json(), &schema())
    }

    /// Logical pages that the device holds, where no mapping tables lie on flash between gaps.
    pub fn capacity_pages(&self) -> u64 {
        Ftl::capacity_pages(&self.config.ftl, &self.device.geometry)
    }

    /// The fewest blocks a plane with which the controller works and `pages` logical pages fill at
    /// most `fill` of the device's capacity (above 0, up to 1).
    ///
    /// # Errors
    /// [`ConfigError`] when there is no device so large.
    pub fn blocks_filled_by(&self, footprint_pages: u64, fill: f64) -> Result<u32, ConfigError> {
        let wanted = (footprint_pages as f64 / fill).ceil();
        let mut config = self.config.clone();
        let mut holds = |blocks_per_plane: u32| -> Result<bool, ConfigError> {
            config.nand.blocks_per_plane = blocks_per_plane;
            let device = config.nand.resolve().map_err(|error| {
                ConfigError(format!(
                    "no device of the kind of '{}' holds {wanted:.0} pages: {error}",
                    self.config.device
                ))
            })?;
            let reserved = config.ftl.reserved_blocks(&device.geometry);
            let works = blocks_per_plane > reserved;
            Ok(works && Ftl::capacity_pages(&config.ftl, &device.geometry) as f64 >= wanted)
        };
        // Between a number that is too small and one that is not.
        let (mut few, mut enough) = (0, 1);
        while !holds(enough)? {
            (few, enough) = (enough, enough.saturating_mul(2));
        }
        while enough - few > 1 {
            let middle = few + (enough - few) / 2;
            (few, enough) = if holds(middle)? { (few, middle) } else { (middle, enough) };
        }
        Ok(enough)
    }

    fn pages_are_small(&self) -> bool {
        self.config.nand.page_bytes < 4096
    }

    /// The contents that a replay of a trace needs: none for a system that does not look at
    /// them where the trace has none.
    pub fn content_source(&self, trace_has_content: bool) -> ContentSource {
        match (self.config.replay.content, self.config.ftl.looks_at_contents()) {
            (ContentSource::Recorded, false) if !trace_has_content || self.pages_are_small() => {
                ContentSource::None
            }
            (source, _) => source.with_seed(self.config.seed),
        }
    }
}

/// The JSON schema of the whole configuration; its descriptions are the reference text.
pub fn schema() -> Value {
    let generator =
        schemars::generate::SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    let schema = generator.into_generator().into_root_schema_for::<Config>();
    serde_json::to_value(schema).unwrap_or(Value::Null)
}

const LISTED: &str = "`flashtwin systems NAME` lists every key";
const NOT_SET: [&str; 2] = ["name", "description"];

/// Resolves a system (a preset's name, or a path to a TOML file) with settings. A setting's
/// key may be any suffix of a dotted key that is unique, its value TOML or a bare word.
///
/// # Errors
/// [`ConfigError`] with the key, the expected value, and the nearest right one, for example
/// `engine.slots` for `engine.slot`.
pub fn resolve(system: &str, sets: &[(String, String)]) -> Result<Resolved, ConfigError> {
    let (place, text) = preset_or_file("system", system, &system_names(), system_toml)?;
    let schema = schema();
    let keys = Keys::new(&schema, LISTED);
    let given = parse_table(&place, &text)?;
    let mut tree = defaults()?;
    let settings: Vec<(String, Value)> =
        sets.iter().map(|(key, value)| setting(&keys, key, value)).collect::<Result<_, ConfigError>>()?;
    // The device first: single numbers of `nand` are set on top of it.
    let device = settings.iter().rev().find(|(key, _)| key == "device").map(|(_, value)| value.clone());
    let device = device.or_else(|| given.get("device").cloned()).unwrap_or_else(|| Value::from("rr-ssd"));
    let Some(device_name) = device.as_str() else {
        return Err(ConfigError(format!(
            "device is {device}: expected a name from `flashtwin devices` or a path"
        )));
    };
    let device = DeviceFile::read(device_name, &schema)?;
    tree.insert("nand".into(), Value::Object(device.nand));
    // A file may name its system; otherwise it is called as the file is, without folders and ending.
    let stem = Path::new(&place)
        .file_stem()
        .map_or_else(|| place.clone(), |stem| stem.to_string_lossy().into_owned());
    tree.insert("name".into(), Value::from(stem));
    flatten_into(&mut tree, given, "", &keys, &place)?;
    flatten_into(&mut tree, device.controller, "", &keys, device_name)?;
    let set_keys: Vec<String> = settings.iter().map(|(key, _)| key.clone()).collect();
    for (key, value) in settings {
        set(&mut tree, &key, value);
    }
    let mut config: Config = from_tree(tree, &keys)?;
    config.nand.undetermined.retain(|key| !set_keys.contains(key));
    check(config)
}

/// The text of a device's file: a preset by its name, or the path of a TOML file, which is checked.
///
/// # Errors
/// [`ConfigError`] naming the file and its key that is wrong or missing.
pub fn device_file(name: &str) -> Result<String, ConfigError> {
    Ok(DeviceFile::read(name, &schema())?.text)
}

/// A flash array and, for a real drive, the controller properties that every design shares.
struct DeviceFile {
    text: String,
    nand: Map<String, Value>,
    /// The tables `engine` and `ftl`, which go before those of a system.
    controller: Map<String, Value>,
}

impl DeviceFile {
    fn read(name: &str, schema: &Value) -> Result<Self, ConfigError> {
        let (place, text) = preset_or_file("device", name, &device_names(), device_toml)?;
        let mut nand = parse_table(&place, &text)?;
        let tables = ["engine", "ftl"].map(|table| (table.to_owned(), nand.remove(table)));
        let controller = tables.into_iter().filter_map(|(name, table)| Some((name, table?))).collect();
        let keys = Keys::new(&schema["properties"]["nand"], "`flashtwin devices rr-ssd` shows every key");
        let read: Result<NandConfig, _> = from_tree(nand.clone(), &keys);
        let read = read.map_err(|error| ConfigError(format!("{place}: {error}")))?;
        let keys = Keys::new(schema, LISTED);
        if let Some(key) = read.undetermined.iter().find(|key| !keys.contains(key)) {
            return Err(ConfigError(format!("{place}: undetermined: {}", keys.unknown(key))));
        }
        refuse_designs(&place, &controller)?;
        Ok(Self { text, nand, controller })
    }
}

/// A drive's file must not set keys of a design, because all designs are compared on it.
fn refuse_designs(place: &str, controller: &Map<String, Value>) -> Result<(), ConfigError> {
    let pointer = |key: &str| format!("/{}", key.replace('.', "/"));
    let whole = Value::Object(controller.clone());
    match crate::keys::keys()
        .iter()
        .find(|key| key.design.is_some() && whole.pointer(&pointer(&key.name)).is_some())
    {
        None => Ok(()),
        Some(key) => Err(ConfigError(format!(
            "{place}: {} is a part of a design, not of a drive: set it in a system's file or with --set",
            key.name
        ))),
    }
}

fn setting(keys: &Keys, key: &str, text: &str) -> Result<(String, Value), ConfigError> {
    let key = keys.full(key)?;
    if NOT_SET.contains(&key.as_str()) {
        return Err(ConfigError(format!(
            "'{key}' is no key that can be set: it stands in a system's file; results bear the name in it, or in \
             Python the name that a mapping gives: ft.compare(trace, {{'mine': ft.system(...)}})"
        )));
    }
    let value = keys.value(&key, text);
    Ok((key, value))
}

fn preset_or_file(
    what: &str,
    name: &str,
    presets: &[&'static str],
    text_of: impl Fn(&str) -> Option<&'static str>,
) -> Result<(String, String), ConfigError> {
    if let Some(text) = text_of(name) {
        return Ok((name.to_owned(), text.to_owned()));
    }
    if name.ends_with(".toml") {
        return match std::fs::read_to_string(name) {
            Ok(text) => Ok((name.to_owned(), text)),
            Err(error) => Err(ConfigError(format!("{name}: {error}. Expected a {what} file in TOML"))),
        };
    }
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

fn defaults() -> Result<Map<String, Value>, ConfigError> {
    let mut tree = Map::new();
    tree.insert("description".into(), Value::from(""));
    tree.insert("device".into(), Value::from("rr-ssd"));
    tree.insert("seed".into(), Value::from(1));
    tree.insert("verify".into(), Value::from(false));
    let tables = [
        ("ftl", serde_json::to_value(flashtwin_ftl::FtlConfig::default())),
        ("engine", serde_json::to_value(crate::config::EngineConfig::default())),
        ("replay", serde_json::to_value(crate::config::ReplayConfig::default())),
    ];
    for (name, table) in tables {
        tree.insert(name.into(), table.map_err(|error| ConfigError(error.to_string()))?);
    }
    Ok(tree)
}

fn flatten_into(
    tree: &mut Map<String, Value>,
    given: Map<String, Value>,
    prefix: &str,
    keys: &Keys,
    place: &str,
) -> Result<(), ConfigError> {
    for (name, value) in given {
        let key = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        match value {
            Value::Object(table) if keys.is_table(&key) => flatten_into(tree, table, &key, keys, place)?,
            value if keys.contains(&key) => set(tree, &key, value),
            _ => return Err(ConfigError(format!("{place}: {}", keys.unknown(&key)))),
        }
    }
    Ok(())
}

fn wrong(key: &str, value: impl Display, expected: &str) -> ConfigError {
    ConfigError(format!("{key} is {value}: expected {expected}"))
}

fn check(config: Config) -> Result<Resolved, ConfigError> {
    let device =
        config.nand.resolve().map_err(|error| ConfigError(format!("device '{}': {error}", config.device)))?;
    config
        .ftl
        .check(&device.geometry)
        .map_err(|(key, value, expected)| wrong(&format!("ftl.{key}"), value, expected))?;
    let positive = |key: &str, value: f64| match value > 0.0 {
        true => Ok(()),
        false => Err(wrong(key, value, "a number above 0")),
    };
    if config.replay.content == ContentSource::None {
        let expected = "recorded, which is none for a trace without contents where that is possible";
        return Err(wrong("replay.content", "\"none\"", expected));
    }
    positive("replay.speed", config.replay.speed)?;
    positive("replay.period_s", config.replay.period_s)?;
    if config.replay.queue_limit > 0 && config.replay.queue_depth > 0 {
        let expected = "0 with replay.queue_depth, which says itself how many requests are under way";
        return Err(wrong("replay.queue_limit", config.replay.queue_limit, expected));
    }
    check_engine(&config.engine, device.geometry.planes_per_die)?;
    check_units(&config)?;
    let least = config.ftl.reserved_blocks(&device.geometry) + 1;
    if config.nand.blocks_per_plane < least {
        let cure = match config.ftl.partitions() {
            1 => "",
            _ => "; each of ftl.partition.partitions takes two, three with ftl.wear.policy = \"static\"",
        };
        return Err(wrong(
            "nand.blocks_per_plane",
            config.nand.blocks_per_plane,
            &format!("at least {least} (active blocks and a reserve for garbage collection){cure}"),
        ));
    }
    Ok(Resolved { config, device })
}

fn check_engine(engine: &EngineConfig, planes_per_die: u32) -> Result<(), ConfigError> {
    for (key, value) in [
        ("engine.hash_us", engine.hash_us),
        ("engine.idle_us", engine.idle_us),
        ("engine.write_cache_us", engine.write_cache_us),
        ("engine.controller_us", engine.controller_us),
        ("engine.suspend_us", engine.suspend_us),
        ("engine.suspend_slice_us", engine.suspend_slice_us),
        ("engine.resume_us", engine.resume_us),
    ] {
        if !(0.0..=1e9).contains(&value) {
            return Err(wrong(key, value, "a duration between 0 and 1e9 microseconds"));
        }
    }
    let link = engine.link_mb_s;
    if link != 0.0 && !(0.001..=1e9).contains(&link) {
        return Err(wrong("engine.link_mb_s", link, "0, or 0.001 to 1e9 MB/s"));
    }
    if engine.arbitration_burst == 0 {
        return Err(wrong("engine.arbitration_burst", 0, "at least 1 request in a turn"));
    }
    let dirty = engine.write_cache_dirty;
    if !(dirty > 0.0 && dirty <= 1.0) {
        return Err(wrong("engine.write_cache_dirty", dirty, "a share above 0, up to 1"));
    }
    if engine.write_completes.is_in_ram() && engine.write_cache_pages > 0 {
        let rule =
            if engine.write_completes == WriteCompletes::Hashed { "\"hashed\"" } else { "\"buffered\"" };
        let cure = "\"programmed\" or \"transferred\" with a write cache (or engine.write_cache_pages = 0)";
        return Err(wrong("engine.write_completes", rule, cure));
    }
    let is_free = engine.write_cache_ns() == 0 && engine.controller_ns() == 0 && link == 0.0;
    if engine.answers_from_ram() && is_free {
        let cure = "the time of DRAM and link for a page, as no write is free (or set engine.controller_us, which is 0 \
            as well)";
        return Err(wrong("engine.write_cache_us", engine.write_cache_us, cure));
    }
    if engine.multi_plane != MultiPlane::None {
        if engine.concurrency == Concurrency::Plane {
            let cure = "\"none\" with engine.concurrency = \"plane\", whose planes need no common command";
            return Err(wrong("engine.multi_plane", "not \"none\"", cure));
        }
        if planes_per_die > 64 {
            let cure = "\"none\" on a device of more than 64 planes a die";
            return Err(wrong("engine.multi_plane", "not \"none\"", cure));
        }
    }
    Ok(())
}

/// A page may wait for the rest of its program unit, so no other operation may wait for that page.
fn check_units(config: &Config) -> Result<(), ConfigError> {
    let (pages, engine) = (config.nand.program_pages, &config.engine);
    if pages == 1 {
        return Ok(());
    }
    let cure = if !engine.answers_from_ram() {
        "1 where a write is complete with its program, as units would never fill (or engine.write_completes = \"buffered\" \
         or \"hashed\", or a write cache: engine.write_cache_pages)"
    } else if !engine.buffer_reads {
        "1 with engine.buffer_reads = false, as reads of a unit that is not full would wait without end"
    } else if engine.multi_plane != MultiPlane::None {
        "1 with engine.multi_plane (or engine.multi_plane = \"none\": describe planes that always work together as one \
         plane with larger blocks)"
    } else {
        return Ok(());
    };
    Err(wrong("nand.program_pages", pages, cure))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn preset(name: &str, sets: &[(&str, &str)]) -> Result<Resolved, String> {
        let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        resolve(name, &sets).map_err(|error| error.0)
    }

    fn with(sets: &[(&str, &str)]) -> Result<Resolved, String> {
        preset("conventional", sets)
    }

    #[test]
    fn unusable_recorded_contents_are_left_out() {
        let with = |name: &str, page_bytes: u32| {
            let mut resolved = resolve(name, &[]).unwrap();
            resolved.config.nand.page_bytes = page_bytes;
            [false, true].map(|has_content| resolved.content_source(has_content))
        };
        let (none, recorded) = (ContentSource::None, ContentSource::Recorded);
        assert_eq!(with("conventional", 4096), [none, recorded]);
        assert_eq!(with("conventional", 2048), [none, none]);
        assert_eq!(with("ca-ssd", 4096), [recorded, recorded]);
    }

    #[test]
    fn a_bound_itself_is_taken_and_what_is_beyond_is_refused() {
        assert_eq!(with(&[("speed", "0")]).unwrap_err(), "replay.speed is 0: expected a number above 0");
        assert!(with(&[("speed", "inf")]).is_err() && with(&[("speed", "1e-9")]).is_ok());
        assert!(with(&[("write_completes", "buffered")]).is_ok());
        for ram in
            [("write_completes", "buffered"), ("write_completes", "hashed"), ("write_cache_pages", "8")]
        {
            let free =
                |controller_us| with(&[ram, ("write_cache_us", "0"), ("controller_us", controller_us)]);
            assert!(free("0").unwrap_err().contains("engine.write_cache_us is 0: expected the time of DRAM"));
            assert!(free("0.001").is_ok(), "{ram:?}");
        }
        for rule in ["hashed", "buffered"] {
            let error = with(&[("write_completes", rule), ("write_cache_pages", "1")]).unwrap_err();
            assert!(error.contains(rule) && error.contains("with a write cache"), "{error}");
        }
        let planes = |planes| {
            with(&[("multi_plane", "same-page"), ("planes_per_die", planes), ("blocks_per_plane", "64")])
        };
        assert!(planes("64").is_ok() && planes("63").is_ok());
        assert!(planes("65").unwrap_err().contains("more than 64 planes a die"));
    }

    #[test]
    fn drive_file_may_set_controller_keys_of_any_design() {
        let folder = std::env::temp_dir().join(format!("flashtwin-device-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("mine.toml");
        let path = file.to_string_lossy().into_owned();
        let with = |tables: &str, sets: &[(&str, &str)]| {
            let device = device_toml("rr-ssd").unwrap();
            std::fs::write(&file, format!("{device}\n{tables}")).unwrap();
            preset("rr-ssd", &[&[("device", path.as_str())], sets].concat()).map(|found| found.config)
        };
        let tables =
            "[engine]\nsuspend_us = 33.0\nsuspend = \"program-erase\"\n[ftl.gc]\nvictim = \"fifo\"\n";
        let drive = with(tables, &[]).unwrap();
        assert_eq!((drive.engine.suspend_us, drive.nand.channels), (33.0, 8));
        assert_eq!(with(tables, &[("engine.suspend_us", "7")]).unwrap().engine.suspend_us, 7.0);
        let refused = |tables: &str| with(tables, &[]).unwrap_err();
        assert!(refused("[engine]\nsuspend_uz = 3").contains("suspend_us"));
        let undetermined = "undetermined = [\"engine.suspend\", \"nand.channels\"]\n";
        let left = |sets: &[(&str, &str)]| with(undetermined, sets).unwrap().nand.undetermined;
        assert_eq!(left(&[]), ["engine.suspend", "nand.channels"]);
        assert_eq!(left(&[("nand.channels", "4")]), ["engine.suspend"], "set by oneself");
        assert!(refused("undetermined = [\"engine.suspent\"]\n").contains("did you mean 'engine.suspend'?"));
        let design = refused("[ftl.replication]\npolicy = \"none\"");
        assert!(design.contains("ftl.replication.policy is a part of a design"), "{design}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn units_are_refused_where_somebody_would_wait_for_them() {
        let refused = |sets: &[(&str, &str)]| with(&[&[("program_pages", "16")], sets].concat()).map(|_| ());
        let buffered = ("write_completes", "buffered");
        assert_eq!(refused(&[buffered]), Ok(()));
        assert_eq!(refused(&[("write_cache_pages", "64")]), Ok(()));
        for (sets, words) in [
            (&[][..], "nand.program_pages is 16: expected 1 where a write is complete with its program"),
            (&[("write_completes", "transferred")], "expected 1 where a write is complete with its program"),
            (&[buffered, ("buffer_reads", "false")], "1 with engine.buffer_reads = false"),
            (&[buffered, ("multi_plane", "same-page")], "1 with engine.multi_plane"),
        ] {
            let error = refused(sets).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert!(with(&[("suspend_slice_us", "-1")]).unwrap_err().contains("engine.suspend_slice_us is -1"));
        assert!(with(&[("read_types_us", "60,100"), ("suspend_times", "0")]).is_ok());
    }

    #[test]
    fn too_few_blocks_are_refused_with_the_number_and_reason() {
        let error = with(&[("blocks_per_plane", "2")]).unwrap_err();
        assert!(error.ends_with("(active blocks and a reserve for garbage collection)"), "{error}");
        let error = with(&[("blocks_per_plane", "2"), ("partition.policy", "bloom-filters")]).unwrap_err();
        assert!(error.contains("each of ftl.partition.partitions takes two"), "{error}");
        let plain = with(&[]).unwrap();
        let least = plain.config.ftl.reserved_blocks(&plain.device.geometry) + 1;
        assert_eq!([0, 1].map(|pages| plain.blocks_filled_by(pages, 1.0).unwrap()), [least; 2]);
    }

    #[test]
    fn what_a_file_has_wrong_is_said_with_its_place() {
        let said = |text: &str| {
            let file = std::env::temp_dir().join(format!("flashtwin-resolve-{}.toml", std::process::id()));
            std::fs::write(&file, text).unwrap();
            let error = resolve(&file.to_string_lossy(), &[]).map(|_| ()).map_err(|error| error.0);
            std::fs::remove_file(&file).unwrap();
            error.unwrap_err().replace(&*file.to_string_lossy(), "FILE")
        };
        assert!(said("seed = 2\nverify = \n").starts_with("FILE:2: not TOML: "));
        assert!(said("[engine]\nhash_u = 3\n").starts_with("FILE: "), "{}", said("[engine]\nhash_u = 3\n"));
        let table = said("[engine.hash_us]\nx = 1\n");
        assert!(table.contains("engine.hash_us") && !table.contains("hash_us.x"), "{table}");
    }

    #[test]
    fn text_of_a_device_is_its_file() {
        let device = device_toml("rr-ssd").unwrap();
        assert_eq!(device_file("rr-ssd").unwrap(), device);
        assert!(device_file("rr-sd").unwrap_err().0.contains("did you mean 'rr-ssd'?"));
    }
}
