import { watchCards } from "./cards.js";
import { watchCompare } from "./compare.js";
import { watchComposer } from "./composer.js";
import { watchEarlier } from "./earlier.js";
import { watchForms } from "./forms.js";
import { watchUnsaved } from "./unsaved.js";
import { watchVerify } from "./verify.js";

watchForms(document);
watchCards(document);
watchComposer(document);
watchEarlier(document);
watchUnsaved(document);
watchVerify(document);
watchCompare(document);
