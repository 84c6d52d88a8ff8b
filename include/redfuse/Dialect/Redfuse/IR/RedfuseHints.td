//===- RedfuseHints.td - what is asked of generators -------*- tablegen -*-===//
//
// The one table of hints. Of it are made: the attribute with its verifier and
// accessors, the search space of `redfuse tune`, and the table in docs/user/tuning.md.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_HINTS_TD
#define REDFUSE_HINTS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Redfuse_TileSchedulingAttr : I32EnumAttr<"TileScheduling", "how blocks get their tiles", [
    I32EnumAttrCase<"Static", 0, "static">,
    I32EnumAttrCase<"Dynamic", 1, "dynamic">
  ]> {
  let cppNamespace = "::redfuse";
}

def Redfuse_LeftOperandAttr : I32EnumAttr<"LeftOperand", "what holds left operands", [
    I32EnumAttrCase<"Registers", 0, "registers">,
    I32EnumAttrCase<"Shared", 1, "shared">
  ]> {
  let cppNamespace = "::redfuse";
}

def Redfuse_LoopLoadsAttr : I32EnumAttr<"LoopLoads", "how a loop loads what comes next", [
    I32EnumAttrCase<"Registers", 0, "registers">,
    I32EnumAttrCase<"Copies", 1, "copies">
  ]> {
  let cppNamespace = "::redfuse";
}

def Redfuse_SharedLoadsAttr : I32EnumAttr<"SharedLoads", "when what all blocks read is loaded", [
    I32EnumAttrCase<"AtUse", 0, "at_use">,
    I32EnumAttrCase<"WithRest", 1, "with_rest">,
    I32EnumAttrCase<"BeforeExchange", 2, "before_exchange">
  ]> {
  let cppNamespace = "::redfuse";
}

def Redfuse_BypassAttr : I32EnumAttr<"Bypass", "what goes past the L1 cache", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Inputs", 1, "inputs">,
    I32EnumAttrCase<"Results", 2, "results">,
    I32EnumAttrCase<"All", 3, "all">
  ]> {
  let cppNamespace = "::redfuse";
}

/// A kind of kernel that a hint concerns, and values worth trying there. `folds`: it
/// changes nothing where nothing is folded. `unsplit`: nor for splits of a fold.
class Of<string kind, list<string> tried, bit ofFolds = 0, bit ofUnsplit = 0> {
  string kernel = kind;
  list<string> values = tried;
  bit folds = ofFolds;
  bit unsplit = ofUnsplit;
}
class OfWgmma<list<string> tried, bit folds = 0> : Of<"wgmma", tried, folds>;
class OfMmaSync<list<string> tried, bit folds = 0> : Of<"mma_sync", tried, folds>;
class OfRegisters<list<string> tried, bit folds = 0, bit unsplit = 0>
    : Of<"registers", tried, folds, unsplit>;

/// A hint: `use` has the kinds of kernels that it concerns; others ignore it.
class Redfuse_Hint<string type, string what, list<Of> use>
    : OptionalParameter<"::std::optional<" # type # ">", what> {
  string meaning = what;
  list<Of> uses = use;
  // What it takes, for people, and in C++: least, most, multiple, power of 2.
  string expected = "true or false";
  string range = "0, 1, 1, false";
  bit isWord = 0;
}

class Redfuse_BoolHint<string what, list<Of> use> : Redfuse_Hint<"bool", what, use>;

class Redfuse_EnumHint<I32EnumAttr cases, string what, list<Of> use>
    : Redfuse_Hint<cases.cppNamespace # "::" # cases.className, what, use> {
  let expected = "one of " # !interleave(!foreach(c, cases.enumerants, c.str), ", ");
  let isWord = 1;
}

class Redfuse_IntHint<int least, int most, string what, list<Of> use, int multiple = 1,
                      bit isPower = 0> : Redfuse_Hint<"int64_t", what, use> {
  let expected = least # " to " # most #
                 !if(!gt(multiple, 1), ", a multiple of " # multiple, "") #
                 !if(isPower, ", a power of 2", "");
  let range = least # ", " # most # ", " # multiple # ", " # !if(isPower, "true", "false");
}

defvar Redfuse_Hints = (ins
  // Most promising first: the search tries them in this order.
  Redfuse_IntHint<64, 192, "rows of a block; more than 128 are for three warpgroups",
    [OfWgmma<["64", "128", "192"]>, OfMmaSync<["64", "128"]>], 64>:$rows,
  Redfuse_IntHint<16, 128, "columns of a step over the streamed dim, at most",
    [OfWgmma<["32", "64", "80", "96", "128"], 1>,
     OfMmaSync<["16", "32", "48", "64", "128"], 1>], 16>:$columns,
  Redfuse_EnumHint<Redfuse_TileSchedulingAttr, "the tile scheduler: dynamic: a block asks for its next tile; static: its tiles are dealt out",
    [OfWgmma<["static", "dynamic"], 1>]>:$scheduler,
  Redfuse_IntHint<1, 1024, "MiB that tiles one behind the other find in the L2 cache",
    [OfWgmma<["16", "32", "64"]>]>:$cached,
  Redfuse_EnumHint<Redfuse_LeftOperandAttr, "what holds left operands that are read once for all steps",
    [OfWgmma<["registers", "shared"], 1>]>:$operand,
  Redfuse_BoolHint<"results leave by copies from shared memory, not by threads",
    [OfWgmma<["false", "true"], 1>]>:$staged,
  Redfuse_IntHint<0, 16,
    "the threshold of rescaling: how far maxima may be above pivots, in halves of a power of 2; 0: pivots are maxima; not given: as far as the sums of rows allow",
    [OfWgmma<["0", "2", "4"], 1>, OfMmaSync<["0", "2", "4"], 1>], 2>:$threshold,
  Redfuse_IntHint<1, 1024, "splits of what is reduced, a sum or a fold, each for a block of its own",
    [OfWgmma<["1", "2", "4", "8", "16", "32"]>,
     OfMmaSync<["1", "2", "4", "8", "16", "32"], 1>]>:$splits,
  Redfuse_IntHint<1, 1024, "stages of the ring of tiles in shared memory, at most",
    [OfWgmma<["2", "3", "4", "6", "8"]>, OfMmaSync<["2", "3", "4"]>]>:$stages,
  Redfuse_IntHint<32, 1024, "threads of a block",
    [OfRegisters<["128", "256", "512", "1024"]>], 1, 1>:$threads,
  Redfuse_IntHint<1, 32, "blocks of a multiprocessor that run at a time: each gets its share of registers and shared memory",
    [OfWgmma<["1", "2"], 1>, OfMmaSync<["1", "2"]>,
     OfRegisters<["1", "2", "4", "8"]>]>:$blocks,
  Redfuse_IntHint<1, 16, "blocks of a cluster, which share a tile, or copy operands for each other",
    [OfWgmma<["1", "2", "4", "8"]>, OfRegisters<["1", "2", "4", "8"], 0, 1>],
    1, 1>:$cluster,
  Redfuse_IntHint<0, 1024, "steps whose tiles the L2 cache is asked for before the kernel waits for the one before it",
    [OfWgmma<["0", "1", "2"], 1>]>:$ahead,
  Redfuse_BoolHint<"blocks of the next kernel come when all copies of this one are under way, not as soon as there is room",
    [OfWgmma<["true"], 1>]>:$late,
  Redfuse_IntHint<1, 1024, "elements of a thread in a step of a fold, at most",
    [OfRegisters<["8", "16", "32", "64"], 1>]>:$step,
  Redfuse_EnumHint<Redfuse_LoopLoadsAttr, "a block walks tiles, or the steps of a fold, and loads the next one ahead: to registers, or by copies to shared memory",
    [OfRegisters<["registers", "copies"]>]>:$loop,
  Redfuse_EnumHint<Redfuse_BypassAttr, "what goes past the L1 cache",
    [OfRegisters<["inputs", "results", "all", "none"]>]>:$bypass,
  Redfuse_EnumHint<Redfuse_SharedLoadsAttr, "when what all blocks read is loaded: where it is used, with the rest, or before the last exchange of a reduction",
    [OfRegisters<["at_use", "with_rest", "before_exchange"]>]>:$early,
  Redfuse_BoolHint<"all loads of a step are awaited before threads combine",
    [OfRegisters<["false", "true"], 1>]>:$await,
  Redfuse_IntHint<0, 1024, "MiB of inputs that the L2 cache is asked for before the kernel waits for the one before it",
    [OfRegisters<["0", "24"], 0, 1>]>:$prefetch,
  Redfuse_BoolHint<"shared memory keeps rows that are read twice, instead of their being read again",
    [OfRegisters<["false", "true"]>]>:$keep
);

/// Hints of a kind of kernel that pay only with each other, which the search tries at
/// once: their values by their names.
class Redfuse_HintSet<string kind, dag named> {
  string kernel = kind;
  dag values = named;
}

defvar Redfuse_HintSets = [
  Redfuse_HintSet<"wgmma", (ins "2":$blocks, "64":$columns, "64":$rows)>,
  Redfuse_HintSet<"wgmma", (ins "2":$blocks, "1":$ahead)>,
  Redfuse_HintSet<"wgmma", (ins "8":$splits, "8":$cluster)>,
  Redfuse_HintSet<"wgmma", (ins "16":$splits, "1":$cluster)>,
  Redfuse_HintSet<"registers",
    (ins "registers":$loop, "16":$step, "4":$blocks, "24":$prefetch)>,
  Redfuse_HintSet<"registers", (ins "registers":$loop, "32":$step, "1":$blocks)>,
  Redfuse_HintSet<"registers", (ins "1024":$threads, "2":$blocks, "32":$step)>
];

defvar Redfuse_HintNumbers = !range(!size(Redfuse_Hints));

/// A hint as JSON.
class Redfuse_HintJson<string name, Redfuse_Hint hint> {
  string quote = !if(hint.isWord, "\"", "");
  string text = "{\"name\": \"" # name # "\", \"meaning\": \"" # hint.meaning #
      "\", \"expected\": \"" # hint.expected # "\", \"uses\": [" #
      !interleave(!foreach(use, hint.uses, "{\"kernel\": \"" # use.kernel #
        "\", \"values\": [" # !interleave(!foreach(v, use.values, quote # v # quote), ", ") #
        "], \"folds\": " # !if(use.folds, "true", "false") #
        ", \"unsplit\": " # !if(use.unsplit, "true", "false") # "}"), ", ") # "]}";
}

/// A hint of a set as JSON; a name that the table lacks ends this build.
class Redfuse_HintSetMemberJson<string name, string value> {
  string quote = !if(!getdagarg<Redfuse_Hint>(Redfuse_Hints, name).isWord, "\"", "");
  string text = "\"" # name # "\": " # quote # value # quote;
}

/// A set of hints as JSON.
class Redfuse_HintSetJson<Redfuse_HintSet set> {
  string text = "{\"kernel\": \"" # set.kernel # "\", \"values\": {" #
      !interleave(!foreach(i, !range(!size(set.values)), Redfuse_HintSetMemberJson<
        !getdagname(set.values, i), !getdagarg<string>(set.values, i)>.text), ", ") # "}}";
}

/// What is made of the table as text: members, parameters and checks in C++, and JSON.
class Redfuse_HintTexts<list<int> numbers> {
  string members = !interleave(!foreach(i, numbers,
      "  " # !getdagarg<Redfuse_Hint>(Redfuse_Hints, i).cppType # " " #
      !getdagname(Redfuse_Hints, i) # ";"), "\n");
  string parameters = !interleave(!foreach(i, numbers,
      ", " # !getdagarg<Redfuse_Hint>(Redfuse_Hints, i).cppType # " " #
      !getdagname(Redfuse_Hints, i)), "");
  string checks = !interleave(!foreach(i, numbers,
      "checkHint(emitError, \"" # !getdagname(Redfuse_Hints, i) # "\", " #
      !getdagname(Redfuse_Hints, i) # ", " #
      !getdagarg<Redfuse_Hint>(Redfuse_Hints, i).range # ")"), " &&\n    ");
  string expected = !interleave(!foreach(i, numbers,
      "\"" # !getdagarg<Redfuse_Hint>(Redfuse_Hints, i).expected # "\""), ",\n    ");
  string json = "{\"hints\": [" # !interleave(!foreach(i, numbers, Redfuse_HintJson<
      !getdagname(Redfuse_Hints, i), !getdagarg<Redfuse_Hint>(Redfuse_Hints, i)>.text), ",\n") #
      "],\n\"sets\": [" # !interleave(!foreach(set, Redfuse_HintSets,
      Redfuse_HintSetJson<set>.text), ",\n") # "]}";
}

#endif // REDFUSE_HINTS_TD
