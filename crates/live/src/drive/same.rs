use std::path::Path;

use super::{CreateOptions, Drive, Plan};
use crate::store::DriveError;

impl Drive {
    /// Refuses a drive of another system, size or setting than those asked for. Only named settings are compared.
    pub fn expect(
        path: &Path,
        system: Option<&str>,
        size_bytes: Option<u64>,
        options: &CreateOptions,
    ) -> Result<(), DriveError> {
        let place = path.display().to_string();
        let found = Self::info(path).map_err(|error| match error {
            DriveError::Image { place: part, text } => DriveError::image(format!("{place}: {part}"), text),
            error => error,
        })?;
        let other = |what: String| Err(DriveError::image(place.clone(), what));
        if let Some(wanted) = size_bytes.filter(|&wanted| wanted != found.size_bytes) {
            let has = found.size_bytes;
            return other(format!(
                "a drive of {has} bytes, and {wanted} were asked for: leave out the size, or name another image"
            ));
        }
        if system.is_none() && options.sets.is_empty() {
            return Ok(());
        }
        let name = system.unwrap_or(&found.system.name);
        let plan = Plan::new(name, found.size_bytes, options)?;
        let wanted = plan.system();
        if system.is_none() {
            // Settings that are no part of an image, those of the engine, may be any.
            let plain = CreateOptions { sets: Vec::new(), ..options.clone() };
            if *wanted == *Plan::new(name, found.size_bytes, &plain)?.system() {
                return Ok(());
            }
        }
        if wanted.name != found.system.name {
            let (is, asked) = (&found.system.name, &wanted.name);
            return other(format!(
                "a drive of the system '{is}', and '{asked}' was asked for: leave out the system, or name another \
                 image"
            ));
        }
        if *wanted == found.system {
            return Ok(());
        }
        let parts = [
            ("ftl", wanted.ftl != found.system.ftl),
            ("nand (the geometry)", wanted.nand != found.system.nand),
            ("seed", wanted.seed != found.system.seed),
            ("replay.period_s", wanted.period_s != found.system.period_s),
        ];
        let differ: Vec<&str> = parts.iter().filter(|(_, differs)| *differs).map(|&(name, _)| name).collect();
        other(format!(
            "a drive of the system '{name}' with other settings of {}: they are kept with the image, so leave out what \
             sets them, or name another image",
            differ.join(" and ")
        ))
    }
}
