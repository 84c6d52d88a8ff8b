//===- AttrFields.cpp - fields of attributes by name ----------------------===//
#include "redfuse/Dialect/Redfuse/IR/AttrFields.h"

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace redfuse;

/// How a parameter of type T is an attribute, `Held` what it is read into.
template <typename T, typename = void>
struct FieldOf;

template <>
struct FieldOf<int64_t> {
  using Held = int64_t;
  static constexpr StringLiteral expected = "an i64";
  static Attribute write(MLIRContext *context, int64_t value) {
    return Builder(context).getI64IntegerAttr(value);
  }
  static std::optional<Held> read(Attribute attr) {
    auto value = dyn_cast_or_null<IntegerAttr>(attr);
    if (!value || !value.getType().isInteger(64))
      return std::nullopt;
    return value.getInt();
  }
};

template <>
struct FieldOf<bool> {
  using Held = bool;
  static constexpr StringLiteral expected = "true or false";
  static Attribute write(MLIRContext *context, bool value) {
    return BoolAttr::get(context, value);
  }
  static std::optional<Held> read(Attribute attr) {
    auto value = dyn_cast_or_null<BoolAttr>(attr);
    return value ? std::optional(value.getValue()) : std::nullopt;
  }
};

template <typename T>
struct FieldOf<T, std::enable_if_t<std::is_enum_v<T>>> {
  using Held = T;
  static constexpr StringLiteral expected = "the name of a case";
  static Attribute write(MLIRContext *context, T value) {
    return StringAttr::get(context, stringifyEnum(value));
  }
  static std::optional<Held> read(Attribute attr) {
    auto value = dyn_cast_or_null<StringAttr>(attr);
    return value ? symbolizeEnum<T>(value.getValue()) : std::nullopt;
  }
};

template <>
struct FieldOf<ArrayRef<int64_t>> {
  using Held = ArrayRef<int64_t>;
  static constexpr StringLiteral expected = "an array of i64";
  static Attribute write(MLIRContext *context, ArrayRef<int64_t> values) {
    return DenseI64ArrayAttr::get(context, values);
  }
  static std::optional<Held> read(Attribute attr) {
    auto values = dyn_cast_or_null<DenseI64ArrayAttr>(attr);
    return values ? std::optional(values.asArrayRef()) : std::nullopt;
  }
};

template <typename T>
struct FieldOf<ArrayRef<T>> {
  using Held = SmallVector<T>;
  static constexpr StringLiteral expected =
      std::is_enum_v<T> ? StringLiteral("an array of names of cases")
                        : StringLiteral("an array of fields by their names");
  static Attribute write(MLIRContext *context, ArrayRef<T> values) {
    auto attrs = llvm::map_to_vector(
        values, [&](T value) { return FieldOf<T>::write(context, value); });
    return ArrayAttr::get(context, attrs);
  }
  static std::optional<Held> read(Attribute attr) {
    // An array of nothing has no kind.
    if (auto dense = dyn_cast_or_null<DenseI64ArrayAttr>(attr);
        dense && dense.empty())
      return Held();
    auto attrs = dyn_cast_or_null<ArrayAttr>(attr);
    if (!attrs)
      return std::nullopt;
    Held values;
    for (Attribute element : attrs) {
      std::optional<T> value = FieldOf<T>::read(element);
      if (!value)
        return std::nullopt;
      values.push_back(*value);
    }
    return values;
  }
};

/// What may be missing.
template <typename T>
struct FieldOf<std::optional<T>> {
  using Held = std::optional<T>;
  static constexpr StringLiteral expected = FieldOf<T>::expected;
  static Attribute write(MLIRContext *context, std::optional<T> value) {
    return value ? FieldOf<T>::write(context, *value) : Attribute();
  }
  static std::optional<Held> read(Attribute attr) {
    if (!attr)
      return Held();
    Held value = FieldOf<T>::read(attr);
    return value ? std::optional<Held>(value) : std::nullopt;
  }
};

/// Whether an attribute is one of those with fields.
template <typename T, typename = void>
constexpr bool hasFields = false;
template <typename T>
constexpr bool hasFields<T, std::void_t<decltype(T::fieldNames)>> = true;

/// Attributes of other dialects are fields as they are, and may be missing.
template <typename T>
struct FieldOf<
    T, std::enable_if_t<std::is_base_of_v<Attribute, T> && !hasFields<T>>> {
  using Held = T;
  static constexpr StringLiteral expected = "another kind of attribute";
  static Attribute write(MLIRContext *, T value) { return value; }
  static std::optional<Held> read(Attribute attr) {
    if (!attr)
      return T();
    auto value = dyn_cast<T>(attr);
    return value ? std::optional(value) : std::nullopt;
  }
};

template <typename AttrT>
static DictionaryAttr fieldsOf(AttrT attr) {
  MLIRContext *context = attr.getContext();
  const StringLiteral *name = AttrT::fieldNames;
  SmallVector<NamedAttribute> fields;
  auto add = [&](const auto &value) {
    using T = std::decay_t<decltype(value)>;
    std::string spelled = llvm::convertToSnakeFromCamelCase(*name++);
    if (Attribute field = FieldOf<T>::write(context, value))
      fields.emplace_back(StringAttr::get(context, spelled), field);
  };
  std::apply([&](const auto &...values) { (add(values), ...); },
             attr.getFieldValues());
  return DictionaryAttr::get(context, fields);
}

namespace {
/// Reads the parameters of an attribute one after the other.
class FieldReader {
public:
  FieldReader(DictionaryAttr fields,
              function_ref<InFlightDiagnostic()> emitError)
      : fields(fields), emitError(emitError) {}

  template <typename AttrT>
  Attribute read() {
    using Values = decltype(std::declval<AttrT>().getFieldValues());
    return read<AttrT>(Values(),
                       std::make_index_sequence<std::tuple_size_v<Values>>());
  }

private:
  template <typename AttrT, typename... Ts, size_t... numbers>
  Attribute read(std::tuple<Ts...>, std::index_sequence<numbers...>) {
    // In braces the fields are read from left to right.
    std::tuple<std::optional<typename FieldOf<Ts>::Held>...> held{
        readField<AttrT, Ts>(AttrT::fieldNames[numbers])...};
    for (NamedAttribute field : fields)
      if (!seen.contains(field.getName()))
        return emitError() << "no " << kindOf<AttrT>() << " is called "
                           << field.getName() << "; expected one of "
                           << llvm::join(spelled, ", "),
               Attribute();
    return std::apply(
        [&](auto &...values) -> Attribute {
          if (!(values && ...))
            return {};
          return AttrT::getChecked(emitError, fields.getContext(),
                                   Ts(*values)...);
        },
        held);
  }

  template <typename AttrT>
  static StringRef kindOf() {
    return std::is_same_v<AttrT, HintsAttr> ? "hint" : "field";
  }

  template <typename AttrT, typename T>
  std::optional<typename FieldOf<T>::Held> readField(StringRef name) {
    spelled.push_back(llvm::convertToSnakeFromCamelCase(name));
    auto key = StringAttr::get(fields.getContext(), spelled.back());
    seen.insert(key);
    auto value = FieldOf<T>::read(fields.get(key));
    if (value)
      return value;
    StringRef expected = FieldOf<T>::expected;
    if constexpr (std::is_same_v<AttrT, HintsAttr>)
      expected = HintsAttr::getExpected(name);
    emitError() << kindOf<AttrT>() << " " << key << ": expected " << expected;
    return value;
  }

  DictionaryAttr fields;
  function_ref<InFlightDiagnostic()> emitError;
  SmallVector<std::string> spelled;
  llvm::SmallDenseSet<StringAttr> seen;
};
} // namespace

/// One attribute of the dialect in another, as a schedule's hints, is its fields.
template <typename T>
struct FieldOf<T, std::enable_if_t<hasFields<T>>> {
  using Held = T;
  static constexpr StringLiteral expected =
      std::is_same_v<T, HintsAttr> ? StringLiteral("hints by their names")
                                   : StringLiteral("fields by their names");
  static Attribute write(MLIRContext *, T value) {
    return value ? fieldsOf(value) : DictionaryAttr();
  }
  static std::optional<Held> read(Attribute attr) {
    auto given = dyn_cast_or_null<DictionaryAttr>(attr);
    if (!given)
      return attr ? std::nullopt : std::optional(T());
    auto emitError = [&] {
      return mlir::emitError(UnknownLoc::get(attr.getContext()));
    };
    Attribute made = FieldReader(given, emitError).template read<T>();
    return made ? std::optional(cast<T>(made)) : std::nullopt;
  }
};

namespace {

/// The attributes of the dialect.
template <typename... AttrTs>
struct Fields {
  static DictionaryAttr get(Attribute attr, StringRef mnemonic) {
    DictionaryAttr found;
    auto visit = [&](auto typed) {
      if (typed && typed.getMnemonic() == mnemonic)
        found = fieldsOf(typed);
    };
    (visit(dyn_cast<AttrTs>(attr)), ...);
    return found;
  }

  static Attribute make(StringRef mnemonic, DictionaryAttr fields,
                        function_ref<InFlightDiagnostic()> emitError) {
    Attribute made;
    bool isKnown =
        ((mnemonic == AttrTs::getMnemonic() &&
          (made = FieldReader(fields, emitError).template read<AttrTs>(),
           true)) ||
         ...);
    if (!isKnown)
      emitError() << "no attribute is called #redfuse." << mnemonic;
    return made;
  }
};
} // namespace

using AllFields = Fields<
#define GET_ATTRDEF_LIST
#include "redfuse/Dialect/Redfuse/IR/RedfuseAttrs.cpp.inc"
    >;

DictionaryAttr redfuse::getAttrFields(Attribute attr, StringRef mnemonic) {
  return AllFields::get(attr, mnemonic);
}

Attribute
redfuse::getAttrOfFields(StringRef mnemonic, DictionaryAttr fields,
                         function_ref<InFlightDiagnostic()> emitError) {
  return AllFields::make(mnemonic, fields, emitError);
}
