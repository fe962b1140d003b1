//! Resolves a system's name and settings to a checked configuration.

use std::fmt::Display;
use std::path::Path;
use std::sync::LazyLock;

use flashtwin_ftl::Ftl;
use flashtwin_ftl::idle::IdlePolicy;
use flashtwin_nand::NandDevice;
use flashtwin_settings::{Keys, from_tree, set};
use flashtwin_trace::ContentSource;
use serde_json::{Map, Value};

use crate::config::{Concurrency, Config, EngineConfig, Mirror, MultiPlane, WriteCompletes, schema};
use crate::error::ConfigError;
use crate::files::{DeviceFile, LISTED, Layer, blamed, dotted, system_layers};
use crate::keys::ignored_because;
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

    /// The contents that a replay of a trace needs: none for a system that does not look at
    /// them where the trace has none.
    pub fn content_source(&self, trace_has_content: bool) -> ContentSource {
        let recorded = trace_has_content && self.config.nand.page_bytes >= 4096;
        match (self.config.replay.content, self.config.ftl.looks_at_contents()) {
            (ContentSource::Recorded, false) if !recorded => ContentSource::None,
            (source, _) => source.with_seed(self.config.seed),
        }
    }
}

const NOT_SET: [&str; 2] = ["name", "description"];

/// Resolves a system (a preset's name, or a path to a TOML file) with settings. A setting's
/// key may be any suffix of a dotted key that is unique, its value TOML or a bare word.
///
/// # Errors
/// [`ConfigError`] with the key, the expected value, and the nearest right one, for example
/// `engine.slots` for `engine.slot`; of a file also the file, and its keys that the system does not look at.
pub fn resolve(system: &str, sets: &[(String, String)]) -> Result<Resolved, ConfigError> {
    let layers = system_layers(system)?;
    let sources = &*SOURCES;
    let settings: Vec<(String, Value)> = sets
        .iter()
        .map(|(key, value)| setting(&sources.keys, key, value))
        .collect::<Result<_, ConfigError>>()?;
    let resolved = sources.resolve(&layers, &settings).map_err(|error| {
        let blamed = blamed(&layers, error.clone(), |some| sources.resolve(some, &[]).map(|_| ()));
        sources.device_blamed(&layers, &settings, &error).unwrap_or(blamed)
    })?;
    if system_toml(system).is_none() {
        sources.refuse_ignored(&layers)?;
    }
    Ok(resolved)
}

/// The text of a device's file: a preset by its name, or the path of a TOML file, which is checked. Of a file with a base
/// all its keys.
///
/// # Errors
/// [`ConfigError`] naming the file and its key that is wrong or missing.
pub fn device_file(name: &str) -> Result<String, ConfigError> {
    Ok(DeviceFile::read(name, &SOURCES.schema, &SOURCES.keys)?.text)
}

/// What files and settings are read with.
struct Sources {
    schema: Value,
    keys: Keys,
}

/// Made once, because a search resolves thousands of systems.
static SOURCES: LazyLock<Sources> = LazyLock::new(|| {
    let schema = schema();
    Sources { keys: Keys::new(&schema, LISTED), schema }
});

impl Sources {
    fn resolve(&self, layers: &[Layer], settings: &[(String, Value)]) -> Result<Resolved, ConfigError> {
        let mut tree = self.tree(layers, set_device(settings))?;
        for (key, value) in settings {
            set(&mut tree, key, value.clone());
        }
        let mut config: Config = from_tree(tree, &self.keys)?;
        config.nand.undetermined.retain(|key| !settings.iter().any(|(set, _)| set == key));
        check(config)
    }

    /// An error with the device's file, where a system without keys of its own has the same error on it.
    fn device_blamed(
        &self,
        layers: &[Layer],
        settings: &[(String, Value)],
        error: &ConfigError,
    ) -> Option<ConfigError> {
        let device = device_named(layers, set_device(settings)).ok()?;
        // Where there is no such file, or it is none of a device, the one that names it is at fault.
        DeviceFile::read(device, &self.schema, &self.keys).ok()?;
        let alone = self.resolve(&[], &[("device".into(), Value::from(device))]).err()?;
        (alone == *error && !error.0.starts_with("device '"))
            .then(|| ConfigError(format!("{device}: {error}")))
    }

    /// The defaults, then the files. Where a device is named, its controller's keys replace those of the files before.
    fn tree(&self, layers: &[Layer], set_device: Option<&Value>) -> Result<Map<String, Value>, ConfigError> {
        let device = device_named(layers, set_device)?;
        let naming = layers.iter().rposition(|layer| layer.given.contains_key("device"));
        let device = DeviceFile::read(device, &self.schema, &self.keys)?;
        let controlled_at = set_device.map_or(naming.unwrap_or(0), |_| layers.len());
        let mut tree = defaults()?;
        tree.insert("nand".into(), Value::Object(device.nand));
        for (at, layer) in layers.iter().enumerate() {
            if at == controlled_at {
                self.control(&mut tree, &device.controllers)?;
            }
            // A file may name its system; otherwise it is called as the file is, without folders and ending.
            let stem = Path::new(&layer.place).file_stem().map(|stem| stem.to_string_lossy().into_owned());
            tree.insert("name".into(), Value::from(stem.unwrap_or_else(|| layer.place.clone())));
            tree.insert("description".into(), Value::from(""));
            flatten_into(&mut tree, layer.given.clone(), "", &self.keys)?;
        }
        if controlled_at == layers.len() {
            self.control(&mut tree, &device.controllers)?;
        }
        Ok(tree)
    }

    fn control(
        &self,
        tree: &mut Map<String, Value>,
        controllers: &[(String, Map<String, Value>)],
    ) -> Result<(), ConfigError> {
        for (place, tables) in controllers {
            flatten_into(tree, tables.clone(), "", &self.keys)
                .map_err(|error| ConfigError(format!("{place}: {error}")))?;
        }
        Ok(())
    }

    /// A key that changes nothing would make the system silently another one than its file seems to describe.
    fn refuse_ignored(&self, layers: &[Layer]) -> Result<(), ConfigError> {
        let file = &layers[layers.len() - 1];
        let given = dotted(&file.given);
        let ignored = |tree: Map<String, Value>| -> Vec<(&String, String)> {
            let config = Value::Object(tree);
            given.iter().filter_map(|key| Some((key, ignored_because(key, &config)?))).collect()
        };
        // A device that cannot be read is no fault where `--set` names another.
        let found = self.tree(layers, None).map(&ignored).unwrap_or_default();
        let Some((_, cause)) = found.first() else { return Ok(()) };
        let keys = found.iter().filter(|(_, other)| other == cause).map(|(key, _)| key.as_str());
        let keys = keys.collect::<Vec<_>>().join(", ");
        let looks = |preset: &&&str| {
            let based = system_layers(preset).map(|base| [base, vec![file.clone()]].concat());
            based.and_then(|layers| self.tree(&layers, None)).is_ok_and(|tree| ignored(tree).is_empty())
        };
        let cure = match system_names().iter().find(looks) {
            Some(preset) => {
                format!("set base = \"{preset}\" at the top of the file, or delete what is not looked at")
            }
            None => "change that, or delete what is not looked at".into(),
        };
        Err(ConfigError(format!("{}: {keys}: not looked at, because {cause}; {cure}", file.place)))
    }
}

fn set_device(settings: &[(String, Value)]) -> Option<&Value> {
    settings.iter().rev().find(|(key, _)| key == "device").map(|(_, value)| value)
}

fn device_named<'a>(layers: &'a [Layer], set: Option<&'a Value>) -> Result<&'a str, ConfigError> {
    match set.or(layers.iter().rev().find_map(|layer| layer.given.get("device"))) {
        None => Ok("rr-ssd"),
        Some(Value::String(name)) => Ok(name),
        Some(other) => {
            let expected = "a name from `flashtwin devices` or a path";
            Err(ConfigError(format!("device is {other}: expected {expected}")))
        }
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

fn defaults() -> Result<Map<String, Value>, ConfigError> {
    let mut tree = Map::new();
    tree.insert("name".into(), Value::from(""));
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
) -> Result<(), ConfigError> {
    for (name, value) in given {
        let key = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        match value {
            Value::Object(table) if keys.is_table(&key) => flatten_into(tree, table, &key, keys)?,
            value if keys.contains(&key) => set(tree, &key, value),
            _ => return Err(ConfigError(keys.unknown(&key))),
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
    if !(config.replay.warm_up_s >= 0.0 && config.replay.warm_up_s.is_finite()) {
        return Err(wrong("replay.warm_up_s", config.replay.warm_up_s, "a number of seconds, or 0"));
    }
    if config.replay.queue_limit > 0 && config.replay.queue_depth > 0 {
        let expected = "0 with replay.queue_depth, which says itself how many requests are under way";
        return Err(wrong("replay.queue_limit", config.replay.queue_limit, expected));
    }
    if config.replay.mirror != Mirror::None
        && (config.replay.queue_limit > 0 || config.replay.queue_depth > 0)
    {
        let expected = "none with replay.queue_depth or replay.queue_limit, because requests then arrive as others are \
                        answered, and two drives answer at different times; with ft.Drive the host waits for answers itself";
        return Err(wrong("replay.mirror", "\"conventional\"", expected));
    }
    check_engine(&config.engine, device.geometry.planes_per_die)?;
    check_batches(&config)?;
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
        ("engine.write_cache_spread_us", engine.write_cache_spread_us),
        ("engine.controller_us", engine.controller_us),
        ("engine.suspend_us", engine.suspend_us),
        ("engine.suspend_slice_us", engine.suspend_slice_us),
        ("engine.resume_us", engine.resume_us),
        ("engine.collection_batch_us", engine.collection_batch_us),
        ("engine.hold_every_us", engine.hold_every_us),
        ("engine.hold_us", engine.hold_us),
        ("engine.urgent_hold_every_us", engine.urgent_hold_every_us),
        ("engine.urgent_hold_us", engine.urgent_hold_us),
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
    if engine.urgent_writes_per_s > 0 && engine.urgent_hold_every_us < 0.001 {
        let cure =
            "at least 0.001 microseconds (or engine.urgent_writes_per_s = 0, for one mode of collection)";
        return Err(wrong("engine.urgent_hold_every_us", engine.urgent_hold_every_us, cure));
    }
    if !(0.0..=1.0).contains(&engine.hold_pass_share) {
        return Err(wrong("engine.hold_pass_share", engine.hold_pass_share, "a share from 0 to 1"));
    }
    if engine.hold_every_us > 0.0 && engine.hold_full_writes_per_s > 0 && engine.slots == 0 {
        let cure = "a number of slots, as a hold that grows with the rate ends when none is free (or             engine.hold_full_writes_per_s = 0)";
        return Err(wrong("engine.slots", 0, cure));
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

/// Collection that waits for its batch makes nothing else wait.
fn check_batches(config: &Config) -> Result<(), ConfigError> {
    let cure = if config.engine.collection_batch_ns() == 0 {
        return Ok(());
    } else if !config.engine.buffer_reads {
        "0 with engine.buffer_reads = false, as reads of moved pages would wait for the next batch"
    } else if config.ftl.gc.idle != IdlePolicy::None {
        "0 with ftl.gc.idle, as a die whose collection waits is not idle"
    } else {
        return Ok(());
    };
    Err(wrong("engine.collection_batch_us", config.engine.collection_batch_us, cure))
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
    use flashtwin_nand::device_toml;

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
        for (wrong, words) in
            [("suspend_us = \"x\"", "expected a number"), ("suspend_us = -1.0", "expected a dur")]
        {
            let error = refused(&format!("[engine]\n{wrong}"));
            assert!(
                error.starts_with(&format!("{path}: engine.suspend_us is ")) && error.contains(words),
                "{error}"
            );
        }
        let own = with(tables, &[("engine.slots", "x")]).unwrap_err();
        assert!(own.starts_with("engine.slots"), "no fault of the device: {own}");
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
