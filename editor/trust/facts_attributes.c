/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Attributes and metadata are lists to which every LLVM adds: what is not known to be harmless goes. Kept is what
 * shapes the code (and so shows in the text): the binary interface, the target, what must not be done.
 */

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

#include "editor/trust/facts.h"

/* How an argument is passed: both sides must agree, and the text shows it. */
static const char *const passing[] = { "zeroext",      "signext",     "noext",	"byval",
				       "sret",	       "inreg",	      "nest",	"inalloca",
				       "preallocated", "elementtype", "immarg", "swiftself",
				       "swifterror",   "swiftasync",  "byref",	"alignstack" };

/* Of functions: none lets the optimizer do more than it may without. */
static const char *const restraints[] = { "alwaysinline",
					  "cold",
					  "convergent",
					  "hot",
					  "inlinehint",
					  "jumptable",
					  "minsize",
					  "naked",
					  "nobuiltin",
					  "nocf_check",
					  "noduplicate",
					  "noimplicitfloat",
					  "noinline",
					  "nomerge",
					  "nonlazybind",
					  "noprofile",
					  "noredzone",
					  "null_pointer_is_valid",
					  "optdebug",
					  "optforfuzzing",
					  "optnone",
					  "optsize",
					  "presplitcoroutine",
					  "returns_twice",
					  "safestack",
					  "sanitize_address",
					  "sanitize_hwaddress",
					  "sanitize_memory",
					  "sanitize_memtag",
					  "sanitize_thread",
					  "shadowcallstack",
					  "skipprofile",
					  "speculative_load_hardening",
					  "ssp",
					  "sspreq",
					  "sspstrong",
					  "strictfp",
					  "uwtable",
					  "alignstack",
					  "disable_sanitizer_instrumentation" };

/* Claims about values; all others (memory, noalias, captures ...) are about effects. */
static const char *const about_values[] = { "nonnull",	 "noundef",	    "range",
					    "align",	 "dereferenceable", "dereferenceable_or_null",
					    "nofpclass", "returned",	    "initializes" };

static const char *const words_kept[] = { "frame-pointer",
					  "target-cpu",
					  "target-features",
					  "tune-cpu",
					  "stack-protector-buffer-size",
					  "no-jump-tables",
					  "probe-stack",
					  "stack-probe-size",
					  "no-stack-arg-probe",
					  "prefer-vector-width",
					  "min-legal-vector-width",
					  "use-soft-float",
					  "no-builtins",
					  "patchable-function",
					  "patchable-function-entry",
					  "patchable-function-prefix",
					  "no-trapping-math",
					  "zero-call-used-regs",
					  "warn-stack-size",
					  "disable-tail-calls",
					  "cf-protection",
					  "indirect-tls-seg-refs",
					  "no-frame-pointer-elim",
					  "no-frame-pointer-elim-non-leaf",
					  "backchain",
					  "stackrealign",
					  "split-stack",
					  FACTS_LAST_CALL };

/* About speed, or for people. */
static const char *const metadata_kept[] = { "dbg",	      "prof",	    "srcloc",
					     "unpredictable", "pcsections", "annotation" };
static const char *const metadata_types[] = { "tbaa", "tbaa.struct" };
static const char *const metadata_scopes[] = { "alias.scope", "noalias" };

static bool is_listed(const char *const *list, size_t n, const char *name, size_t size)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == size && memcmp(list[i], name, size) == 0)
			return true;
	return false;
}

#define IS_LISTED(list, name, size) is_listed(list, ARRAY_SIZE(list), name, size)

enum { KEEP, VALUE, EFFECT };

/* What each kind of attribute is: asked once, LLVM knows them by number. */
static uint8_t *kinds_of(const char *const *kept, size_t n_kept)
{
	unsigned last = LLVMGetLastEnumAttributeKind();
	uint8_t *kinds = malloc(last + 1);

	if (!kinds)
		abort();
	memset(kinds, EFFECT, last + 1);
	for (size_t i = 0; i < ARRAY_SIZE(about_values); i++)
		kinds[LLVMGetEnumAttributeKindForName(about_values[i], strlen(about_values[i]))] = VALUE;
	for (size_t i = 0; i < n_kept; i++)
		kinds[LLVMGetEnumAttributeKindForName(kept[i], strlen(kept[i]))] = KEEP;
	return kinds;
}

static bool goes(LLVMAttributeRef a, bool of_function, unsigned classes)
{
	static uint8_t *of_functions, *of_values;
	const char *name;
	unsigned size, kind;

	if (LLVMIsStringAttribute(a)) {
		name = LLVMGetStringAttributeKind(a, &size);
		return classes & FACTS_EFFECTS && !IS_LISTED(words_kept, name, size) &&
		       strncmp(name, "no-builtin-", 11) != 0;
	}
	if (!of_functions) {
		of_functions = kinds_of(restraints, ARRAY_SIZE(restraints));
		of_values = kinds_of(passing, ARRAY_SIZE(passing));
	}
	kind = LLVMGetEnumAttributeKind(a);
	switch ((of_function ? of_functions : of_values)[kind]) {
	case KEEP: return false;
	case VALUE: return classes & FACTS_VALUES;
	default: return classes & FACTS_EFFECTS;
	}
}

struct site {
	LLVMValueRef value;
	bool is_call;
};

static void site_strip(struct site s, LLVMAttributeIndex index, unsigned classes)
{
	unsigned n = s.is_call ? LLVMGetCallSiteAttributeCount(s.value, index) :
				 LLVMGetAttributeCountAtIndex(s.value, index),
		 size;
	LLVMAttributeRef few[64], *list = n <= ARRAY_SIZE(few) ? few : calloc(n, sizeof(LLVMAttributeRef));

	if (!list)
		abort();
	if (s.is_call)
		LLVMGetCallSiteAttributes(s.value, index, list);
	else
		LLVMGetAttributesAtIndex(s.value, index, list);
	for (unsigned i = 0; i < n; i++) {
		const char *name;

		if (!goes(list[i], index == (LLVMAttributeIndex)LLVMAttributeFunctionIndex, classes))
			continue;
		if (LLVMIsStringAttribute(list[i])) {
			name = LLVMGetStringAttributeKind(list[i], &size);
			(s.is_call ? LLVMRemoveCallSiteStringAttribute :
				     LLVMRemoveStringAttributeAtIndex)(s.value, index, name, size);
		} else {
			(s.is_call ? LLVMRemoveCallSiteEnumAttribute : LLVMRemoveEnumAttributeAtIndex)(
				s.value, index, LLVMGetEnumAttributeKind(list[i]));
		}
	}
	if (list != few)
		free(list);
}

void facts_call_attributes_strip(LLVMValueRef call, unsigned classes)
{
	unsigned n = LLVMGetNumArgOperands(call);

	if (!(classes & (FACTS_VALUES | FACTS_EFFECTS)))
		return;
	site_strip((struct site){ call, true }, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, classes);
	for (unsigned i = 0; i <= n; i++)
		site_strip((struct site){ call, true }, i, classes);
}

static void function_kind_add(LLVMValueRef function, const char *name)
{
	LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(ir_context(),
							LLVMGetEnumAttributeKindForName(name, strlen(name)),
							0));
}

/* Functions that come back a second time; compilers know them by name, too. */
static bool comes_back(LLVMValueRef function)
{
	static const char *const names[] = { "setjmp",	    "_setjmp", "__setjmp", "sigsetjmp",
					     "__sigsetjmp", "savectx", "vfork",	   "getcontext" };
	size_t size;
	const char *name = LLVMGetValueName2(function, &size);

	return LLVMIsDeclaration(function) && IS_LISTED(names, name, size);
}

void facts_attributes_strip(LLVMModuleRef module, unsigned classes)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		if (LLVMGetIntrinsicID(f))
			continue; /* LLVM's own, set when IR is read */
		if (classes & (FACTS_VALUES | FACTS_EFFECTS)) {
			site_strip((struct site){ f, false }, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				   classes);
			for (unsigned i = 0; i <= LLVMCountParams(f); i++)
				site_strip((struct site){ f, false }, i, classes);
		}
		if (classes & FACTS_NULL && !LLVMIsDeclaration(f))
			function_kind_add(f, "null_pointer_is_valid");
		if (classes & FACTS_EFFECTS && comes_back(f))
			function_kind_add(f, "returns_twice");
	}
}

/* ---- metadata ---- */

/* Of a loop's notes, only those that forbid or that say what was done stay. */
static bool is_note_kept(LLVMValueRef note)
{
	static const char *const kept[] = {
		"llvm.loop.isvectorized",      "llvm.loop.unroll.disable", "llvm.loop.unroll.runtime.disable",
		"llvm.loop.vectorize.disable", "llvm.licm.disable",	   "llvm.loop.distribute.disable"
	};
	LLVMValueRef operands[16];
	unsigned size;
	const char *name;

	if (!LLVMIsAMDNode(note) || LLVMGetMDNodeNumOperands(note) < 1 || LLVMGetMDNodeNumOperands(note) > 16)
		return false;
	LLVMGetMDNodeOperands(note, operands);
	name = operands[0] && LLVMIsAMDString(operands[0]) ? LLVMGetMDString(operands[0], &size) : NULL;
	return name && IS_LISTED(kept, name, size);
}

/* A loop's identity is a node that names itself first. */
static LLVMValueRef loop_note_make(LLVMMetadataRef *notes, size_t n)
{
	LLVMMetadataRef placeholder = LLVMTemporaryMDNode(ir_context(), NULL, 0), node;

	notes[0] = placeholder;
	node = LLVMMDNodeInContext2(ir_context(), notes, n);
	LLVMMetadataReplaceAllUsesWith(placeholder, node);
	return LLVMMetadataAsValue(ir_context(), node);
}

static void loop_strip(LLVMValueRef instruction, unsigned kind)
{
	LLVMValueRef loop = LLVMGetMetadata(instruction, kind);
	unsigned n = loop ? LLVMGetMDNodeNumOperands(loop) : 0;
	size_t n_kept = 1;
	LLVMValueRef *operands;
	LLVMMetadataRef *notes;

	if (!loop)
		return;
	operands = calloc(n + 1, sizeof(LLVMValueRef));
	notes = calloc(n + 1, sizeof(LLVMMetadataRef));
	if (!operands || !notes)
		abort();
	LLVMGetMDNodeOperands(loop, operands);
	for (unsigned i = 1; i < n; i++)
		if (operands[i] && is_note_kept(operands[i]))
			notes[n_kept++] = LLVMValueAsMetadata(operands[i]);
	if (n_kept != n)
		LLVMSetMetadata(instruction, kind, n_kept > 1 ? loop_note_make(notes, n_kept) : NULL);
	free(operands);
	free(notes);
}

/* By number: asked once for each kind that is known here. */
static unsigned kind_class(unsigned kind)
{
	static struct {
		unsigned kind, class;
	} known[32];
	static unsigned n;

	if (!n) {
#define KNOW(list, of)                                                                                  \
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {                                                 \
		known[n].kind =                                                                         \
			LLVMGetMDKindIDInContext(ir_context(), (list)[i], (unsigned)strlen((list)[i])); \
		known[n++].class = (of);                                                                \
	}
		static const char *const loops[] = { "llvm.loop" };

		KNOW(metadata_kept, 0)
		KNOW(metadata_types, FACTS_TYPES)
		KNOW(metadata_scopes, FACTS_SCOPES)
		KNOW(loops, FACTS_LOOPS)
#undef KNOW
	}
	for (unsigned i = 0; i < n; i++)
		if (known[i].kind == kind)
			return known[i].class;
	return FACTS_LOADED;
}

static unsigned kind_of(const char *name)
{
	return LLVMGetMDKindIDInContext(ir_context(), name, (unsigned)strlen(name));
}

/* A byte that is said to be 0 or 1: a bool of C and C++. */
static bool is_bool(LLVMValueRef instruction)
{
	LLVMValueRef range = LLVMGetMetadata(instruction, kind_of("range")), bounds[2];

	if (!range || !LLVMIsALoadInst(instruction) ||
	    LLVMGetTypeKind(LLVMTypeOf(instruction)) != LLVMIntegerTypeKind ||
	    LLVMGetIntTypeWidth(LLVMTypeOf(instruction)) != 8 || LLVMGetMDNodeNumOperands(range) != 2)
		return false;
	LLVMGetMDNodeOperands(range, bounds);
	return LLVMConstIntGetZExtValue(bounds[0]) == 0 && LLVMConstIntGetZExtValue(bounds[1]) == 2;
}

void facts_metadata_strip(LLVMValueRef instruction, unsigned classes)
{
	bool keeps_bool;
	LLVMValueMetadataEntry *entries;
	size_t n;

	if (!LLVMHasMetadata(instruction))
		return;
	keeps_bool = !(classes & FACTS_BOOLS) && is_bool(instruction);
	entries = LLVMInstructionGetAllMetadataOtherThanDebugLoc(instruction, &n);
	for (unsigned i = 0; i < n; i++) {
		unsigned kind = LLVMValueMetadataEntriesGetKind(entries, i), class = kind_class(kind);

		if (keeps_bool && (kind == kind_of("range") || kind == kind_of("noundef")))
			continue;
		if (class & classes & FACTS_LOOPS)
			loop_strip(instruction, kind);
		else if (class & classes)
			LLVMSetMetadata(instruction, kind, NULL);
	}
	LLVMDisposeValueMetadataEntries(entries);
}

/* ---- variables, and functions as names ---- */

static void body_drop(LLVMValueRef function)
{
	LLVMBasicBlockRef b;

	for (b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i; (i = LLVMGetLastInstruction(b));) {
			if (LLVMGetFirstUse(i))
				LLVMReplaceAllUsesWith(i, LLVMGetPoison(LLVMTypeOf(i)));
			LLVMInstructionEraseFromParent(i);
		}
	while ((b = LLVMGetFirstBasicBlock(function)))
		LLVMDeleteBasicBlock(b);
	if (LLVMHasPersonalityFn(function))
		LLVMSetPersonalityFn(function, NULL);
}

/* Constants of these sizes go to sections where the linker merges them, if nobody may compare their addresses: the place proves it. */
static bool is_merged(LLVMValueRef variable)
{
	LLVMTypeRef type = LLVMGlobalGetValueType(variable);
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(LLVMGetGlobalParent(variable));
	unsigned long long size = LLVMTypeIsSized(type) ? LLVMABISizeOfType(layout, type) : 0;

	if (size == 4 || size == 8 || size == 16 || size == 32)
		return true;
	return LLVMGetTypeKind(type) == LLVMArrayTypeKind && LLVMGetInitializer(variable) &&
	       LLVMIsAConstantDataSequential(LLVMGetInitializer(variable)) &&
	       LLVMIsConstantString(LLVMGetInitializer(variable));
}

static void variable_strip(LLVMValueRef v)
{
	if (LLVMGetLinkage(v) == LLVMAvailableExternallyLinkage) {
		LLVMSetInitializer(v, NULL);
		LLVMSetLinkage(v, LLVMExternalLinkage);
	}
	if (LLVMIsDeclaration(v)) {
		LLVMSetGlobalConstant(v, false);
		LLVMSetAlignment(v, 0);
	} else if (LLVMGetSection(v) && *LLVMGetSection(v)) {
		LLVMSetGlobalConstant(v, false);
	}
	if (LLVMIsDeclaration(v) || !is_merged(v))
		LLVMSetUnnamedAddress(v, LLVMNoUnnamedAddr);
	LLVMGlobalClearMetadata(v);
}

void facts_variables_strip(LLVMModuleRef module, unsigned classes)
{
	LLVMValueRef v;

	if (!(classes & FACTS_VARIABLES))
		return;
	for (v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
		if (LLVMGetLinkage(v) != LLVMAppendingLinkage)
			variable_strip(v);
	for (v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v)) {
		if (LLVMGetIntrinsicID(v))
			continue;
		if (LLVMGetLinkage(v) == LLVMAvailableExternallyLinkage) {
			body_drop(v);
			LLVMSetLinkage(v, LLVMExternalLinkage);
		}
		LLVMSetUnnamedAddress(v, LLVMNoUnnamedAddr);
	}
}
