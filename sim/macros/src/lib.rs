//! The attribute `#[holdup::test]`. Use it through the crate `holdup`, which documents it.

use proc_macro::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, ItemFn, Lit, MetaNameValue, Result, ReturnType, Token};

/// A test that runs under many schedules.
///
/// The body runs once per seed, as task `main` of an execution, and fails by panicking. The failure
/// is drawn, and the last line of the report is the command that replays it.
///
/// ```
/// use holdup::sync::atomic::{AtomicU32, Ordering};
///
/// #[holdup::test(seeds = 2_000, scheduler = "pct3")]
/// fn both_updates_count() {
///     let count = AtomicU32::new(0);
///     holdup::thread::scope(|scope| {
///         scope.spawn(|| count.fetch_add(1, Ordering::SeqCst));
///         scope.spawn(|| count.fetch_add(1, Ordering::SeqCst));
///     });
///     assert_eq!(count.load(Ordering::SeqCst), 2);
/// }
/// # fn main() {}
/// ```
///
/// | option | meaning | if left out |
/// | --- | --- | --- |
/// | `seeds = 10_000` | run the seeds from 0 to one below this | `1_000` |
/// | `scheduler = "pct3"` | who decides | `"portfolio"` |
/// | `mutant = "x"` | switch this known bug on; the test then has `#[should_panic]` | none |
/// | `max_steps = 100_000` | an execution with more scheduling points fails | `1_000_000` |
/// | `jobs = 2` | OS threads; the outcome is the same for any number | `1` |
/// | `race_check = false` | do not look for data races on plain memory | `true` |
///
/// The variables `HOLDUP_SEED`, `HOLDUP_SEEDS`, `HOLDUP_SCHEDULER` and the others override options.
/// Other attributes, such as `#[should_panic]`, `#[ignore]` and `#[cfg(..)]`, stay on the test.
///
/// Without the feature `sim` of `holdup` the body runs once, on real threads. A mutant cannot be
/// switched on there, so a test that asks for one panics and says so.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments, item).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(arguments: TokenStream, item: TokenStream) -> Result<proc_macro2::TokenStream> {
    let options = Options::parse(arguments)?;
    let ItemFn { attrs, vis, sig, block, modifiers } = syn::parse(item)
        .map_err(|error| Error::new(error.span(), "#[holdup::test] belongs on a function"))?;
    modifiers.require_empty()?;
    check_signature(&sig)?;
    if let Some(twice) = attrs.iter().find(|attribute| attribute.path().is_ident("test")) {
        return Err(Error::new_spanned(twice, "#[holdup::test] makes the test; leave out #[test]"));
    }

    let name = &sig.ident;
    // libtest's name of `r#move` is `r#move` as well.
    let last = name.to_string();
    Ok(quote! {
        #[::core::prelude::v1::test]
        #(#attrs)*
        #vis fn #name() {
            // Many executions run the body, so it is a function and cannot consume anything.
            fn body() #block
            ::holdup::private::run_test(
                ::core::env!("CARGO_PKG_NAME"),
                ::core::concat!(::core::module_path!(), "::", #last),
                &::holdup::private::TestOptions { #options },
                &body,
            );
        }
    })
}

/// Only `fn name() { .. }` can be run again and again, with nothing to pass and nobody to await it.
fn check_signature(sig: &syn::Signature) -> Result<()> {
    let refuse = |tokens: &dyn ToTokens, sentence: &str| {
        Err(Error::new_spanned(tokens.to_token_stream(), sentence))
    };
    if let Some(token) = &sig.asyncness {
        return refuse(token, "a test is not async: an execution is made of tasks, not of futures");
    }
    if !matches!(sig.safety, syn::Safety::Default) {
        return refuse(&sig.safety, "a test is not unsafe; use a block inside of it");
    }
    if let Some(token) = &sig.constness {
        return refuse(token, "a test is not const");
    }
    if let Some(abi) = &sig.abi {
        return refuse(abi, "a test has Rust's own calling convention");
    }
    if !sig.generics.params.is_empty() {
        return refuse(&sig.generics, "a test is not generic: nobody could say for which type");
    }
    if let Some(clause) = &sig.generics.where_clause {
        return refuse(clause, "a test is not generic: nobody could say for which type");
    }
    if !sig.inputs.is_empty() {
        return refuse(&sig.inputs, "a test takes no arguments: its input is the schedule");
    }
    let is_unit = |ty: &syn::Type| matches!(ty, syn::Type::Tuple(tuple) if tuple.elems.is_empty());
    match &sig.output {
        ReturnType::Default => Ok(()),
        ReturnType::Type(_, ty) if is_unit(ty) => Ok(()),
        output @ ReturnType::Type(..) => refuse(
            output,
            "a test returns nothing: it fails by panicking, so that the panic is drawn",
        ),
    }
}

/// What stands in the brackets: the fields of `TestOptions`.
#[derive(Default)]
struct Options {
    seeds: Option<u64>,
    scheduler: Option<String>,
    mutant: Option<String>,
    max_steps: Option<u64>,
    jobs: Option<u64>,
    race_check: Option<bool>,
}

impl Options {
    fn parse(arguments: TokenStream) -> Result<Self> {
        let parser = Punctuated::<MetaNameValue, Token![,]>::parse_terminated;
        let mut options = Self::default();
        for MetaNameValue { path, value, .. } in parser.parse(arguments)? {
            let name = path.get_ident().map(ToString::to_string).unwrap_or_default();
            let twice = match &*name {
                "seeds" => options.seeds.replace(number(&value)?).is_some(),
                "scheduler" => options.scheduler.replace(text(&value)?).is_some(),
                "mutant" => options.mutant.replace(text(&value)?).is_some(),
                "max_steps" => options.max_steps.replace(number(&value)?).is_some(),
                "jobs" => options.jobs.replace(number(&value)?).is_some(),
                "race_check" => options.race_check.replace(truth(&value)?).is_some(),
                _ => {
                    let sentence = "unknown option: there are seeds, scheduler, mutant, max_steps, \
                                    jobs and race_check";
                    return Err(Error::new_spanned(path, sentence));
                }
            };
            if twice {
                return Err(Error::new_spanned(path, format!("{name} is given twice")));
            }
        }
        Ok(options)
    }
}

impl ToTokens for Options {
    fn to_tokens(&self, tokens: &mut proc_macro2::TokenStream) {
        let Self { seeds, scheduler, mutant, max_steps, jobs, race_check } = self;
        let (seeds, max_steps, jobs) = (option(seeds), option(max_steps), option(jobs));
        let (scheduler, mutant, race_check) =
            (option(scheduler), option(mutant), option(race_check));
        tokens.extend(quote! {
            seeds: #seeds,
            scheduler: #scheduler,
            mutant: #mutant,
            max_steps: #max_steps,
            jobs: #jobs,
            race_check: #race_check,
        });
    }
}

fn option(value: &Option<impl ToTokens>) -> proc_macro2::TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

fn number(value: &Expr) -> Result<u64> {
    let refused =
        || Error::new_spanned(value, "a whole number from 1 belongs here, such as 10_000");
    let Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) = value else { return Err(refused()) };
    number.base10_parse().ok().filter(|&number| number > 0).ok_or_else(refused)
}

fn text(value: &Expr) -> Result<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.value()),
        _ => Err(Error::new_spanned(value, "a text in quotes belongs here, such as \"pct3\"")),
    }
}

fn truth(value: &Expr) -> Result<bool> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Bool(truth), .. }) => Ok(truth.value),
        _ => Err(Error::new_spanned(value, "true or false belongs here")),
    }
}
