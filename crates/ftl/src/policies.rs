//! The table of a family of policies: one row a policy, from which the rest follows.

/// Declares the policies of a family. A row has the manual's comment, the name (in kebab case in configurations), and
/// the expression that builds the policy, unless the owner reads the name itself. A row that begins with `@` opens the
/// family to policies from outside (`foreign.rs`); its list has the traits that such a policy may have.
macro_rules! policies {
    (
        $(#[$about:meta])*
        $shown:vis enum $Family:ident;
        $built:vis fn build($($part:ident: $Part:ty),* $(,)?) -> $Built:ty;
        $(@ $foreign:ident $traits:tt => $foreign_build:expr;)?
        $($(#[$said:meta])* $Name:ident => $build:expr;)+
    ) => {
        $crate::policies::policies! {
            $(#[$about])*
            $shown enum $Family;
            $(@ $foreign $traits;)?
            $($(#[$said])* $Name;)+
        }

        impl $Family {
            /// Builds the policy.
            $built fn build(self, $($part: $Part),*) -> $Built {
                match self {
                    $(Self::$Name => $build,)+
                    $(Self::Foreign($foreign) => $foreign_build,)?
                }
            }
        }
    };
    (
        $(#[$about:meta])*
        $shown:vis enum $Family:ident;
        $(@ $foreign:ident [$($trait:literal),*];)?
        $($(#[$said:meta])* $Name:ident;)+
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        $shown enum $Family {
            $($(#[$said])* $Name,)+
            $(
                /// A policy of your own, in Python, that `ft.policy` made.
                #[serde(untagged)]
                #[schemars(extend("x-traits" = [$($trait),*]))]
                Foreign($crate::foreign::ForeignName),
            )?
        }

        impl $Family {
            /// All of them, in the order of the table.
            pub const ALL: [Self; [$(stringify!($Name)),+].len()] = [$(Self::$Name),+];

            $(
                /// The name of a policy from outside.
                pub(crate) fn foreign(self) -> Option<$crate::foreign::ForeignName> {
                    if let Self::Foreign($foreign) = self { Some($foreign) } else { None }
                }
            )?
        }
    };
}

pub(crate) use policies;
